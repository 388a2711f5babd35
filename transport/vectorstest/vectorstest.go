// Package vectorstest reads what the compiler has made of loops over vector registers.
package vectorstest

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// NoScalarsAmongVectors fails where an innermost loop of one of the functions computes with
// vectors and has an instruction of those older than AVX, which Go's compiler takes for
// scalars, among them one that it loads anew each time around for want of registers. Some
// machines take a hundred nanoseconds from one kind to the other. The functions are those of
// the calling test's package: calls are not followed. It skips where there is no objdump, and
// on systems that load programs elsewhere than these say.
func NoScalarsAmongVectors(t *testing.T, functions ...any) {
	t.Helper()
	objdump, err := exec.LookPath("objdump")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux, and objdump of binutils to read what the compiler made")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		function := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
		from := function.Entry()
		to := from
		for within := function; within != nil && within.Entry() == from; within = runtime.FuncForPC(to) {
			to += 16 // to which functions are aligned
		}
		text, err := exec.Command(objdump, "--disassemble", "--no-show-raw-insn", fmt.Sprintf("--start-address=%#x", from), fmt.Sprintf("--stop-address=%#x", to), program).Output()
		if err != nil {
			t.Fatalf("objdump: %v", err)
		}
		loops, found := scalarsAmongVectors(string(text))
		if loops == 0 {
			t.Errorf("%s: no loop with vectors is found; is it the function with the loops?", function.Name())
		}
		for _, instruction := range found {
			t.Errorf("%s: a scalar among vectors, in a loop: %s", function.Name(), instruction)
		}
	}
}

var (
	instruction = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(\S+)(.*)$`)
	jump        = regexp.MustCompile(`^j\w+$`)
	target      = regexp.MustCompile(`^\s+(?:0x)?([0-9a-f]+)`)
)

// scalarsAmongVectors counts the innermost loops that compute with vectors in a function's
// text, and returns the instructions with which scalars are loaded or computed there. A loop
// is what lies between a jump back and where it goes, if not to the function's beginning,
// from where it starts anew on a larger stack.
func scalarsAmongVectors(text string) (loops int, found []string) {
	type line struct {
		at             uint64
		vector, scalar bool
		text           string
	}
	var lines []line
	var spans [][2]uint64
	for text := range strings.Lines(text) {
		parts := instruction.FindStringSubmatch(strings.TrimRight(text, "\n"))
		if parts == nil {
			continue
		}
		at, _ := strconv.ParseUint(parts[1], 16, 64)
		name, operands := parts[2], parts[3]
		wide := strings.Contains(operands, "ymm") || strings.Contains(operands, "zmm")
		lines = append(lines, line{at, wide, strings.Contains(operands, "xmm") && !strings.HasPrefix(name, "v"), strings.TrimSpace(text)})
		if to := target.FindStringSubmatch(operands); jump.MatchString(name) && to != nil {
			if back, _ := strconv.ParseUint(to[1], 16, 64); back <= at && back > lines[0].at {
				spans = append(spans, [2]uint64{back, at})
			}
		}
	}
	for i, span := range spans {
		innermost := true
		for k, other := range spans {
			innermost = innermost && (i == k || other[0] < span[0] || other[1] > span[1] || other == span && k > i)
		}
		if !innermost {
			continue
		}
		vectors, scalars := false, []string(nil)
		for _, l := range lines {
			if l.at >= span[0] && l.at <= span[1] {
				if vectors = vectors || l.vector; l.scalar {
					scalars = append(scalars, l.text)
				}
			}
		}
		if vectors {
			loops, found = loops+1, append(found, scalars...)
		}
	}
	return loops, found
}
