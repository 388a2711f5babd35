//go:build linux && (amd64 || arm64)

package backend_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// Signals go by XLA's threads, which they would break, and still reach the others.
func TestXLAsThreadsTakeNoSignals(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		if _, err := graph.CallOnce(b.Engine, func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(x) }, []float32{3, 4}); err != nil {
			t.Fatal(err)
		}
		threads, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			t.Fatal(err)
		}
		xla, open := 0, 0
		for _, thread := range threads {
			name, _ := os.ReadFile(thread + "/comm")
			status, _ := os.ReadFile(thread + "/status") // of one that has ended nothing
			_, rest, _ := strings.Cut(string(status), "SigBlk:")
			blocked, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
			if err != nil {
				continue
			}
			takes := blocked&(1<<(syscall.SIGPROF-1)) == 0
			if takes {
				open++
			}
			if strings.HasPrefix(string(name), "tf_") {
				if xla++; takes {
					t.Errorf("thread %s takes signals", strings.TrimSpace(string(name)))
				}
			}
		}
		if open == 0 || b.Name == backend.XLA && b.OnCPU() && xla == 0 {
			t.Errorf("%d of %d threads take signals, %d are XLA's", open, len(threads), xla)
		}
	})
}
