package accountant

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The setting of the comparison, which testdata/peers.py has too: DP-Sinkhorn's
// on MNIST.
const (
	peersSigma, peersRate, peersSteps, peersDelta = 0.75, 1. / 1200, 160000, 1e-5
	peersTarget                                   = 10
	peersInterval                                 = 1e-4 // dp_accounting's default
)

func peersEvent(noiseMultiplier float64) Event {
	return SelfComposed{PoissonSampled{peersRate, Gaussian{noiseMultiplier}}, peersSteps}
}

// peer is what another accountant took for one task, and what it said.
type peer struct{ Seconds, Value float64 }

// peers asks the other accountants once, in one Python process.
var peers = sync.OnceValues(func() (map[string]peer, error) {
	python := filepath.Join("..", "..", ".molehill", "peers", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return nil, errors.New("the other accountants are not here; `make bench PEERS=1 packages=./privacy/accountant` sets them up, from PyPI")
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

// BenchmarkPeers runs all tasks here and then, in one Python process, elsewhere:
// what a peer took is beside how many times as long that is. Ours come first,
// because the signal of a child process that ends slows a SIMD build down.
func BenchmarkPeers(b *testing.B) {
	epsilonBy := func(a Accountant) func() (float64, error) {
		return func() (float64, error) {
			r, err := a.Epsilon(peersEvent(peersSigma), AddRemove, peersDelta)
			return r.Epsilon, err
		}
	}
	calibrateBy := func(a Accountant) func() (float64, error) {
		return func() (float64, error) {
			return CalibrateNoise(peersTarget, peersDelta, peersEvent, AddRemove, a)
		}
	}
	took := map[string]float64{} // seconds, by task
	for _, ours := range []struct {
		task, how, unit string
		do              func() (float64, error)
	}{
		{"epsilon", "molehill", "ε", epsilonBy(PLD{Interval: peersInterval})}, // prv_accountant is asked for an error of 0.01
		{"epsilon", "molehill-own-interval", "ε", epsilonBy(PLD{})},
		{"calibrate-pld", "molehill", "σ", calibrateBy(PLD{})},
		{"calibrate-rdp", "molehill", "σ", calibrateBy(RDP{})},
	} {
		b.Run(ours.task+"/"+ours.how, func(b *testing.B) {
			var value float64
			for b.Loop() {
				var err error
				if value, err = ours.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(value, ours.unit)
			if ours.how == "molehill" {
				took[ours.task] = b.Elapsed().Seconds() / float64(b.N)
			}
		})
	}
	all, err := peers()
	if err != nil {
		b.Log("nothing to compare with:", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) {
			task, _, _ := strings.Cut(name, "/")
			b.ReportMetric(1e9*all[name].Seconds, "ns/op")
			b.ReportMetric(all[name].Value, "says")
			if took[task] > 0 {
				b.ReportMetric(all[name].Seconds/took[task], "x-molehill's-time")
			}
		})
	}
}
