package sliced

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"molehill/transport"
)

// peer is what another library took for one task, and the SW₂ that it found.
type peer struct{ Seconds, Value float64 }

// peers asks the other libraries once, in one Python process.
var peers = sync.OnceValues(func() (map[string]peer, error) {
	python := cmp.Or(os.Getenv("MOLEHILL_PEERS_PYTHON"), filepath.Join("..", "..", ".molehill", "peers", "bin", "python"))
	if _, err := os.Stat(python); err != nil {
		return nil, errors.New("no other libraries: MOLEHILL_PEERS_PYTHON is the Python that has jax, POT, torch or some of them")
	}
	text, err := exec.Command(python, filepath.Join("testdata", "peers.py")).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New("testdata/peers.py failed: " + string(exit.Stderr))
		}
		return nil, err
	}
	var all map[string]peer
	return all, json.Unmarshal(text, &all)
})

// BenchmarkSW2Gradient is SW₂ and its gradient by both sides over 200 directions,
// and then what other libraries take for it on the same cores: their time is beside
// how many times as long that is. Ours come first, because the signal of a child
// process that ends slows a SIMD build down.
func BenchmarkSW2Gradient(b *testing.B) {
	took := map[string]float64{} // seconds, by task
	for _, c := range []struct{ n, m, dim int }{{10_000, 10_000, 8}, {10_000, 10_000, 64}, {10_000, 7_000, 8}, {10_000, 7_000, 64}} {
		task := fmt.Sprintf("n=%d/m=%d/d=%d", c.n, c.m, c.dim)
		b.Run(task+"/molehill", func(b *testing.B) {
			rng := rand.New(rand.NewPCG(10, 2))
			x, y, u := transport.Uniform(gaussian(rng, c.n, c.dim)), transport.Uniform(gaussian(rng, c.m, c.dim)), Uniform(c.dim, 200, rng)
			var d Distance
			for b.Loop() {
				var err error
				if d, _, _, err = SWGradient(x, y, 2, u); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(d.Value, "SW₂")
			took[task] = b.Elapsed().Seconds() / float64(b.N)
		})
	}
	all, err := peers()
	if err != nil {
		b.Log("nothing to compare with:", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(1e9*all[name].Seconds, "ns/op")
			b.ReportMetric(all[name].Value, "SW₂")
			if ours := took[name[:strings.LastIndex(name, "/")]]; ours > 0 {
				b.ReportMetric(all[name].Seconds/ours, "x-molehill's-time")
			}
		})
	}
}

// BenchmarkArgsort sorts a [10000, 200] table of projections by rows, with the
// orders, on all cores.
func BenchmarkArgsort(b *testing.B) {
	rng := rand.New(rand.NewPCG(11, 2))
	table, err := Project(gaussian(rng, 10_000, 8), Uniform(8, 200, rng))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		transport.Parallel(len(table), func() *transport.Sorter { return new(transport.Sorter) }, func(s *transport.Sorter, j int) {
			s.Argsort(table[j])
		})
	}
}

func BenchmarkSW2(b *testing.B) {
	rng := rand.New(rand.NewPCG(10, 2))
	x, y, u := gaussian(rng, 10_000, 8), gaussian(rng, 10_000, 8), Orthonormal(8, 25, rng)
	for b.Loop() {
		if _, err := SW2(x, y, u); err != nil {
			b.Fatal(err)
		}
	}
}
