package accountant

import (
	"math"
	"testing"
)

func TestCalibrateNoiseIsTheLeast(t *testing.T) {
	for _, a := range []Accountant{PLD{}, RDP{}} {
		for _, target := range []float64{0.1, 1, 20} {
			build := func(m float64) Event { return SelfComposed{PoissonSampled{0.02, Gaussian{m}}, 300} }
			m, err := CalibrateNoise(target, 1e-6, build, AddRemove, a)
			if err != nil {
				t.Fatal(err)
			}
			at, less := epsilon(t, a, build(m), AddRemove, 1e-6), epsilon(t, a, build(m*(1-1e-4)), AddRemove, 1e-6)
			if !(at <= target && less > target) {
				t.Errorf("%s: noise %v for ε = %v costs %v; a ten-thousandth less, %v", a.Name(), m, target, at, less)
			}
		}
	}
}

func TestCalibrateStepsIsTheMost(t *testing.T) {
	build := func(steps int) Event { return SelfComposed{PoissonSampled{0.01, Gaussian{1}}, steps} }
	steps, err := CalibrateSteps(2, 1e-5, math.MaxInt32, build, AddRemove, PLD{})
	if err != nil {
		t.Fatal(err)
	}
	at, more := epsilon(t, PLD{}, build(steps), AddRemove, 1e-5), epsilon(t, PLD{}, build(steps+1), AddRemove, 1e-5)
	if !(at <= 2 && more > 2) {
		t.Errorf("%d steps for ε = 2 cost %v; one more, %v", steps, at, more)
	}
	if got, err := CalibrateSteps(2, 1e-5, 10, build, AddRemove, PLD{}); got != 10 || err != nil {
		t.Errorf("of at most 10 steps %d are allowed, %v; want all", got, err)
	}
	if got, err := CalibrateSteps(1e-3, 1e-12, 10, func(n int) Event { return SelfComposed{Gaussian{0.1}, n} }, AddRemove, PLD{}); got != 0 || err != nil {
		t.Errorf("%d steps are allowed, %v; want none", got, err)
	}
}

func TestCalibrateRateIsTheLargest(t *testing.T) {
	build := func(rate float64) Event { return SelfComposed{PoissonSampled{rate, Gaussian{1}}, 1000} }
	rate, err := CalibrateRate(2, 1e-5, build, AddRemove, PLD{})
	if err != nil {
		t.Fatal(err)
	}
	at, more := epsilon(t, PLD{}, build(rate), AddRemove, 1e-5), epsilon(t, PLD{}, build(rate*(1+1e-4)), AddRemove, 1e-5)
	if !(at <= 2 && more > 2) {
		t.Errorf("rate %v for ε = 2 costs %v; a ten-thousandth more, %v", rate, at, more)
	}
	if got, err := CalibrateRate(1e4, 1e-5, build, AddRemove, PLD{}); got != 1 || err != nil {
		t.Errorf("a large budget allows the rate %v, %v; want 1", got, err)
	}
}

func TestCalibrationRefuses(t *testing.T) {
	build := func(m float64) Event { return Gaussian{m} }
	for _, target := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got, err := CalibrateNoise(target, 1e-5, build, AddRemove, PLD{}); err == nil {
			t.Errorf("target %v: noise %v", target, got)
		}
		if got, err := CalibrateRate(target, 1e-5, func(float64) Event { return Gaussian{1} }, AddRemove, PLD{}); err == nil {
			t.Errorf("target %v: rate %v", target, got)
		}
		if got, err := CalibrateSteps(target, 1e-5, 10, func(n int) Event { return SelfComposed{Gaussian{1}, n} }, AddRemove, PLD{}); err == nil {
			t.Errorf("target %v: %v steps", target, got)
		}
	}
	if got, err := CalibrateSteps(1, 1e-5, 0, func(n int) Event { return SelfComposed{Gaussian{1}, n} }, AddRemove, PLD{}); err == nil {
		t.Errorf("of no steps: %v", got)
	}
}

func BenchmarkCalibration(b *testing.B) {
	for _, a := range []Accountant{PLD{}, RDP{}} {
		b.Run(a.Name(), func(b *testing.B) {
			for b.Loop() {
				n := 0
				_, err := CalibrateNoise(3, 1e-5, func(m float64) Event {
					n++
					return SelfComposed{PoissonSampled{1. / 1200, Gaussian{m}}, 160_000}
				}, AddRemove, a)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(n), "evaluations")
			}
		})
	}
}

func BenchmarkAccountants(b *testing.B) {
	e := SelfComposed{PoissonSampled{1. / 1200, Gaussian{0.75}}, 160_000}
	for _, a := range []Accountant{PLD{}, PLD{Interval: 1e-4}, RDP{}} {
		b.Run(a.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := a.Epsilon(e, AddRemove, 1e-5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
