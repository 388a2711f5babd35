package privacy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

func TestWhatWasReleasedIsReplayed(t *testing.T) {
	for _, epsilon := range []float64{1, math.Inf(1)} {
		plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne, Query: "numbers"}, Records: 10, Steps: 2,
			Budget: Budget{Epsilon: epsilon, Delta: 1e-5}, Coordinates: 3})
		if err != nil {
			t.Fatal(err)
		}
		kept := make([][]float64, plan.Steps)
		r := plan.Releaser(noise.Seeded(1))
		r.Keep(func(step int, released []float64) error { kept[step] = slices.Clone(released); return nil })
		for step := range plan.Steps {
			values := []float64{1, 2, float64(step)}
			if err := r.Release(values, plan.Sensitivity, step); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(values, kept[step]) {
				t.Errorf("kept %v of the release %v", kept[step], values)
			}
		}
		replay, err := plan.Replay(kept...)
		if err != nil {
			t.Fatal(err)
		}
		for step := range plan.Steps {
			values := make([]float64, 3)
			if err := replay.Release(values, plan.Sensitivity, step); err != nil || !slices.Equal(values, kept[step]) {
				t.Errorf("ε = %v, step %d: replayed %v, %v, want %v", epsilon, step, values, err, kept[step])
			}
		}
		for step, values := range [][]float64{0: {1, 2}, 2: {1, 2, 3}} {
			if values != nil && replay.Release(values, plan.Sensitivity, step) == nil {
				t.Errorf("release %d of %d numbers was replayed", step, len(values))
			}
		}
		if _, err := plan.Replay(kept[0]); err == nil {
			t.Error("one of two releases was taken for all")
		}
		plan.Sampler = sampling.FixedSize{Size: 5}
		if _, err := plan.Replay(kept...); err == nil || !strings.Contains(err.Error(), "samples") {
			t.Errorf("a replay of samples: %v", err)
		}
		r = plan.Releaser(noise.Seeded(1))
		full := errors.New("the disk is full")
		r.Keep(func(int, []float64) error { return full })
		if err := r.Release(make([]float64, 3), plan.Sensitivity, 0); !errors.Is(err, full) {
			t.Errorf("a release that could not be kept: %v", err)
		}
	}
}

// A second releaser of a plan and a secret key has the noise of the first: the difference of
// what both released would be exact. It answers the same, and nothing else.
func TestOneKeyReleasesOnceForAllReleasers(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	secret, err := noise.Secure()
	if err != nil {
		t.Fatal(err)
	}
	first, again := []float64{3, 5}, []float64{3, 5}
	if err := p.Releaser(secret).Release(first, p.Sensitivity, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.Releaser(secret).Release(again, p.Sensitivity, 0); err != nil || !slices.Equal(again, first) {
		t.Errorf("the same again: %v, %v; want %v", again, err, first)
	}
	if err := p.Releaser(noise.Keyed(secret.Key(), false)).Release([]float64{4, 5}, p.Sensitivity, 0); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("other values: %v", err)
	}
	other, err := noise.Secure()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Releaser(other).Release([]float64{4, 5}, p.Sensitivity, 0); err != nil {
		t.Errorf("under another key: %v", err)
	}
}

// Two plans that sample under one key would look at the same rows, which no accountant
// expects: the second is refused, also by a process that comes later. One that looks at all
// rows, and the same plan again, may.
func TestOneKeySamplesForOnePlan(t *testing.T) {
	samples := func(batch int) Plan {
		p, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Sampler: sampling.FixedSize{Size: batch}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][32]byte{}
	draw := func(p Plan) ([]int, error) {
		r := p.Releaser(noise.Seeded(1)) // each as of a process of its own
		r.Remember(func(name string, digest [32]byte) error {
			if before, known := names[name]; known && before != digest {
				return errors.New("known otherwise")
			}
			names[name] = digest
			return nil
		})
		if _, err := r.Draw(0); err != nil {
			return nil, err
		}
		return r.Draw(1)
	}
	first, err := draw(samples(10))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := draw(samples(10)); err != nil || !slices.Equal(again, first) {
		t.Errorf("%v, %v; the same plan again draws %v", again, err, first)
	}
	if rows, err := draw(all); err != nil || len(rows) != 100 {
		t.Errorf("%d rows, %v; a plan of all rows samples nothing", len(rows), err)
	}
	if rows, err := draw(samples(20)); err == nil || rows != nil || !strings.Contains(err.Error(), "a key of its own") {
		t.Errorf("%v, %v; another plan draws the same rows", rows, err)
	}
}
