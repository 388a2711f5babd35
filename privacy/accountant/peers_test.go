package accountant

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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

// sideBySide runs ours as a benchmark and, beside it, what each peer took for
// the same task; without peers it says so.
func sideBySide(b *testing.B, task, unit string, ours func() (float64, error)) {
	all, err := peers()
	b.Run("molehill", func(b *testing.B) {
		if err != nil {
			b.Log("nothing to compare with:", err)
		}
		var value float64
		for b.Loop() {
			var err error
			if value, err = ours(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(value, unit)
		for name, p := range all {
			if at, who, _ := strings.Cut(name, "/"); at == task {
				b.ReportMetric(p.Seconds/(b.Elapsed().Seconds()/float64(b.N)), "x-faster-than-"+who)
			}
		}
	})
	for name, p := range all {
		if at, who, _ := strings.Cut(name, "/"); at == task {
			b.Run(who, func(b *testing.B) {
				b.ReportMetric(1e9*p.Seconds, "ns/op")
				b.ReportMetric(p.Value, unit)
			})
		}
	}
}

// BenchmarkPLDEpsilon is ε at dp_accounting's interval. prv_accountant is asked
// for an error of 0.01.
func BenchmarkPLDEpsilon(b *testing.B) { benchmarkEpsilon(b, PLD{Interval: peersInterval}) }

// BenchmarkPLDEpsilonAtOwnInterval is ε as PLD{} finds it.
func BenchmarkPLDEpsilonAtOwnInterval(b *testing.B) { benchmarkEpsilon(b, PLD{}) }

func benchmarkEpsilon(b *testing.B, a Accountant) {
	sideBySide(b, "epsilon", "ε", func() (float64, error) {
		r, err := a.Epsilon(peersEvent(peersSigma), AddRemove, peersDelta)
		return r.Epsilon, err
	})
}

// BenchmarkCalibrateNoiseByPLD is the σ for peersTarget.
func BenchmarkCalibrateNoiseByPLD(b *testing.B) { benchmarkCalibration(b, "calibrate-pld", PLD{}) }

// BenchmarkCalibrateNoiseByRDP is the same by RDP.
func BenchmarkCalibrateNoiseByRDP(b *testing.B) { benchmarkCalibration(b, "calibrate-rdp", RDP{}) }

func benchmarkCalibration(b *testing.B, task string, a Accountant) {
	sideBySide(b, task, "σ", func() (float64, error) {
		return CalibrateNoise(peersTarget, peersDelta, peersEvent, AddRemove, a)
	})
}
