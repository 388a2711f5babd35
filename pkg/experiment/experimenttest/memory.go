package experimenttest

import (
	"bufio"
	"fmt"
	"os"
	"testing"
)

// MostMemory is the most that this process ever had in memory, in MiB, by what the system
// counts. A test that cannot know is skipped.
func MostMemory(t *testing.T) (mib int) {
	t.Helper()
	file, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib int
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kib); err == nil {
			return kib >> 10
		}
	}
	t.Skip("no VmHWM here")
	return 0
}
