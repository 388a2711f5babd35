package backend

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// SIMD says whether this program was built with GOEXPERIMENT=simd, which makes
// matrix products of the Go backend about seven times faster.
func SIMD() bool { return simd }

// AsyncPreemptOff says whether asynchronous preemption is off, by GODEBUG or
// by the linker's default for it. With SIMD it should be: a signal that arrives
// while vector registers are in use makes math.Exp 50 to 100 times slower, at
// random.
func AsyncPreemptOff() bool {
	if setting, ok := lastSetting(os.Getenv("GODEBUG"), "asyncpreemptoff"); ok {
		return setting == "1"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-ldflags" {
			_, defaults, _ := strings.Cut(s.Value, "runtime.godebugDefault=")
			defaults, _, _ = strings.Cut(defaults, " ")
			setting, _ := lastSetting(strings.Trim(defaults, `"'`), "asyncpreemptoff")
			return setting == "1"
		}
	}
	return false
}

// lastSetting finds key in a comma-separated list of key=value; the last wins,
// as it does for the Go runtime.
func lastSetting(list, key string) (value string, ok bool) {
	for _, setting := range strings.Split(list, ",") {
		if v, found := strings.CutPrefix(setting, key+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

func goDevice() string {
	vectors := "no SIMD"
	if simd {
		vectors = "SIMD"
	}
	return fmt.Sprintf("%s, %d cores, %s", runtime.GOARCH, runtime.GOMAXPROCS(0), vectors)
}
