package accountant

import (
	"testing"
)

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
