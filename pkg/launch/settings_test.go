package launch_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/launch"
)

func TestSettingsKeepWhatIsSet(t *testing.T) {
	const malloc = "glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=536870912:glibc.malloc.hugetlb=1"
	for _, c := range []struct{ debug, tunables, wantDebug, wantTunables string }{
		{"", "", "asyncpreemptoff=1", malloc},
		{"gctrace=1", "glibc.malloc.check=3", "gctrace=1,asyncpreemptoff=1", "glibc.malloc.check=3:" + malloc},
		{"asyncpreemptoff=0", "glibc.malloc.hugetlb=0:glibc.malloc.mmap_threshold=7:glibc.malloc.trim_threshold=7", "asyncpreemptoff=0", "glibc.malloc.hugetlb=0:glibc.malloc.mmap_threshold=7:glibc.malloc.trim_threshold=7"},
	} {
		given := map[string]string{"GODEBUG": c.debug, "GLIBC_TUNABLES": c.tunables}
		got := launch.Settings(func(name string) string { return given[name] })
		want := map[string]string{"GODEBUG": c.wantDebug, "GLIBC_TUNABLES": c.wantTunables}
		if !maps.Equal(got, want) {
			t.Errorf("with %v\ngot  %v\nwant %v", given, got, want)
		}
		again := launch.Settings(func(name string) string { return got[name] })
		if !maps.Equal(again, got) {
			t.Errorf("a process with the settings would start again: %v after %v", again, got)
		}
	}
}

// Tests and benchmarks run with what programs run with.
func TestMakeSetsTheSame(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range launch.Settings(func(string) string { return "" }) {
		if line := "export " + name + " := " + value + "\n"; !strings.Contains(string(makefile), line) {
			t.Errorf("the Makefile lacks %q", line)
		}
	}
}
