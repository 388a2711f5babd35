package privacy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"molehill/privacy/noise"
)

// A release of zeros is noise alone: its distribution is N(0, NoiseStd²), by a
// Kolmogorov–Smirnov test at 100,000 values (false alarm 10⁻⁶ at D√n > 2.7)
// that noise of two thirds or three halves of the scale must fail.
func TestReleaseOfZerosIsThePlannedNoise(t *testing.T) {
	p := example()
	p.Coordinates = 100_000
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, p.Coordinates)
	if err := p.Releaser(noise.Seeded(2)).Release(values, p.Sensitivity, 0); err != nil {
		t.Fatal(err)
	}
	slices.Sort(values)
	statistic := func(std float64) float64 {
		var d float64
		n := float64(len(values))
		for i, v := range values {
			u := distuv.Normal{Sigma: std}.CDF(v)
			d = max(d, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
		}
		return d * math.Sqrt(n)
	}
	if s := statistic(p.NoiseStd); !(s <= 2.7) {
		t.Errorf("KS statistic %v against the planned noise", s)
	}
	for _, factor := range []float64{2. / 3, 3. / 2} {
		if s := statistic(factor * p.NoiseStd); !(s >= 2.7) {
			t.Errorf("KS statistic %v against %v times the planned noise: the test has no power", s, factor)
		}
	}
}

func TestReleaserRefusesWhatThePlanDoesNotCover(t *testing.T) {
	p, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releaser(noise.Seeded(3))
	larger, other := p.Sensitivity, p.Sensitivity
	larger.Value *= 1.001
	other.Relation = AddRemove
	nan, negative := p.Sensitivity, p.Sensitivity
	nan.Value, negative.Value = math.NaN(), -1
	for want, refuse := range map[string]func(values []float64) error{
		"budget is spent":  func(v []float64) error { return r.Release(v, p.Sensitivity, 1) },
		"release 0":        func(v []float64) error { return r.Release(v, p.Sensitivity, -1) },
		"most sensitive":   func(v []float64) error { return r.Release(v, larger, 0) },
		"sensitivity NaN":  func(v []float64) error { return r.Release(v, nan, 0) },
		"sensitivity -1":   func(v []float64) error { return r.Release(v, negative, 0) },
		"one relation":     func(v []float64) error { return r.Release(v, other, 0) },
		"largest release":  func(v []float64) error { return r.Release(append(v, make([]float64, 200)...), p.Sensitivity, 0) },
		"complete it with": func(v []float64) error { return example().Releaser(noise.Seeded(3)).Release(v, p.Sensitivity, 0) },
	} {
		values := []float64{1, 2, 3}
		if err := refuse(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
		if !slices.Equal(values, []float64{1, 2, 3}) {
			t.Errorf("%s: the refused values were changed to %v", want, values)
		}
	}
}

func TestReleaserMakesEachReleaseOnce(t *testing.T) {
	p := example()
	p.Steps = 3
	p, err := Calibrate(p)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releaser(noise.Seeded(5))
	first, again, other := []float64{1, 2, 3}, []float64{1, 2, 3}, []float64{1, 2, 4}
	if err := r.Release(first, p.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(again, p.Sensitivity, 1); err != nil || !slices.Equal(first, again) {
		t.Errorf("the same release again: %v and %v, %v", first, again, err)
	}
	if err := r.Release(other, p.Sensitivity, 1); err == nil || !strings.Contains(err.Error(), "other values") || other[2] != 4 {
		t.Errorf("other values under the same noise: %v, %v", other, err)
	}
	// Another plan under the same key has noise of its own: the difference of
	// their releases of the same values does not cancel.
	q := p
	q.NoiseStd *= 1.001
	second := []float64{1, 2, 3}
	if err := q.Releaser(noise.Seeded(5)).Release(second, q.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	for i := range second {
		if !(math.Abs(second[i]-first[i]) >= 0.01*p.NoiseStd) {
			t.Errorf("two plans under one key released %v and %v", first[i], second[i])
		}
	}
}

// What is expected changes no answer: not the release's, nor that of another step, of
// fewer numbers, of a step that does not exist, or of a second time.
func TestExpectedReleasesAreTheSame(t *testing.T) {
	plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}, Coordinates: 500})
	if err != nil {
		t.Fatal(err)
	}
	release := func(r *Releaser, step, numbers int) []float64 {
		values := make([]float64, numbers)
		if err := r.Release(values, plan.Sensitivity, step); err != nil {
			t.Fatal(err)
		}
		return values
	}
	plainly := plan.Releaser(noise.Seeded(1))
	all, few, next := release(plainly, 0, 500), release(plainly, 2, 7), release(plainly, 1, 500)
	r := plan.Releaser(noise.Seeded(1))
	for _, step := range []int{-1, 3, 0} {
		r.Expect(step, 500)
	}
	r.Expect(1, 501)
	for range 2 {
		if !slices.Equal(release(r, 0, 500), all) {
			t.Error("an expected release is another one")
		}
	}
	r.Expect(2, 500)
	if !slices.Equal(release(r, 1, 500), next) || !slices.Equal(release(r, 2, 7), few) {
		t.Error("an expected release changes others")
	}
	open := Plan{Sensitivity: plan.Sensitivity, Records: 100, Steps: 1, Budget: Budget{Epsilon: math.Inf(1)}, Coordinates: 500}.Releaser(noise.Seeded(1))
	open.Expect(0, 500)
	if slices.Max(release(open, 0, 500)) != 0 {
		t.Error("a plan without noise has it once it is expected")
	}
}

// A release that is begun is the release, with its noise from the start; whether it may be
// is settled later, and by one answer. What was refused has kept and changed nothing.
func TestBegunReleasesAreSettled(t *testing.T) {
	plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: 1, Relation: ReplaceOne}, Records: 100, Steps: 3, Budget: Budget{Epsilon: 1, Delta: 1e-5}, Coordinates: 50})
	if err != nil {
		t.Fatal(err)
	}
	values := func(v float64) []float64 { return slices.Repeat([]float64{v}, 50) }
	want := values(0.25)
	if err := plan.Releaser(noise.Seeded(1)).Release(want, plan.Sensitivity, 1); err != nil {
		t.Fatal(err)
	}
	var kept [][]float64
	var announced atomic.Int32
	r := plan.Releaser(noise.Seeded(1))
	r.Keep(func(_ int, released []float64) error { kept = append(kept, slices.Clone(released)); return nil })
	hold, said := make(chan struct{}), errors.New("that was another process's")
	r.Remember(func(name string, _ [32]byte) error {
		announced.Add(1)
		<-hold
		if strings.HasSuffix(name, " 2") {
			return said
		}
		return nil
	})
	begin := func(v float64, step int) ([]float64, func() error) {
		t.Helper()
		dst := make([]float64, 50)
		settle, err := r.Begin(dst, values(v), plan.Sensitivity, step)
		if err != nil {
			t.Fatal(err)
		}
		return dst, settle
	}
	first, settle := begin(0.25, 1)
	if !slices.Equal(first, want) || len(kept) != 0 {
		t.Error("a release that is begun is another one, or kept before it is settled")
	}
	other, refuse := begin(0.5, 2)
	close(hold)
	for range 2 {
		if err := settle(); err != nil {
			t.Error(err)
		}
		if err := refuse(); !errors.Is(err, said) {
			t.Errorf("%v; want %v", err, said)
		}
	}
	if len(kept) != 1 || !slices.Equal(kept[0], want) || announced.Load() != 2 || slices.Equal(other, values(0.5)) {
		t.Errorf("%d releases kept of %d announced", len(kept), announced.Load())
	}
	if _, again := begin(0.75, 1); again() == nil {
		t.Error("a step was released of other values")
	}
	in := values(0.75)
	if err := r.Release(in, plan.Sensitivity, 1); err == nil || !slices.Equal(in, values(0.75)) {
		t.Errorf("%v, and values are %v", err, in[:3])
	}
	if _, err := r.Begin(in, in, plan.Sensitivity, 0); err == nil || !strings.Contains(err.Error(), "place of its own") {
		t.Errorf("%v; values are hashed while they are released into themselves", err)
	}
	if _, err := r.Begin(in[:3], in, plan.Sensitivity, 0); err == nil {
		t.Error("50 numbers went into 3 places")
	}
}

// Each release is announced before it gets its noise, by a name of its own, and what is
// refused then is not released.
func TestReleasesAreAnnounced(t *testing.T) {
	plan, err := Calibrate(example())
	if err != nil {
		t.Fatal(err)
	}
	plan.Steps = 3
	names := map[string][32]byte{}
	refuse := errors.New("not that")
	announced := func(name string, digest [32]byte) error {
		if before, known := names[name]; known && before != digest {
			return refuse
		}
		names[name] = digest
		return nil
	}
	release := func(value float64, step int) ([]float64, error) {
		r := plan.Releaser(noise.Seeded(1)) // each as of a process of its own
		r.Remember(announced)
		values := []float64{value}
		return values, r.Release(values, plan.Sensitivity, step)
	}
	first, err := release(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := release(1, 0); err != nil || again[0] != first[0] {
		t.Errorf("%v, %v; the same again is %v", again, err, first)
	}
	if _, err := release(2, 1); err != nil || len(names) != 2 {
		t.Errorf("%d names of two releases, %v", len(names), err)
	}
	grid := noise.Grid(plan.NoiseStd, 0)
	if values, err := release(1+grid, 0); !errors.Is(err, refuse) || values[0] != 1+grid {
		t.Errorf("%v, %v; want the values as they were, refused", values, err)
	}
	if again, err := release(1+grid/1024, 0); err != nil || again[0] != first[0] {
		t.Errorf("%v, %v; what the grid does not tell apart is released as %v was", again, err, first)
	}
}

// Counts of many records are more than a million times a small noise: the grid becomes
// coarser, which the plan accounts for, and none is cut.
func TestReleasesOfMillionsOfRecordsAreWhole(t *testing.T) {
	for _, records := range []int{1000, 3_000_000, 2_000_000_000} {
		plan, err := Calibrate(Plan{Sensitivity: Sensitivity{Value: math.Sqrt2, Relation: ReplaceOne}, Records: records, Steps: 1, Budget: Budget{Epsilon: 10, Delta: 1e-11}, Coordinates: 1000})
		if err != nil {
			t.Fatal(err)
		}
		count := float64(records)
		values := []float64{count, 0}
		if err := plan.Releaser(noise.Seeded(1)).Release(values, plan.Sensitivity, 0); err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(values[0]-count) <= 8*plan.NoiseStd && math.Abs(values[1]) <= 8*plan.NoiseStd) {
			t.Errorf("%d records and none are released as %v, with noise of %v", records, values, plan.NoiseStd)
		}
		if inflation := plan.Inflation(); !(inflation >= noise.GridInflation(plan.NoiseStd, count, 1000)) {
			t.Errorf("%d records: rounding is planned to add %v", records, inflation)
		}
		s, err := plan.Statement(noise.Seeded(1), nil)
		if err != nil || !(float64(s.Epsilon()) <= 10*(1+1e-9)) {
			t.Errorf("%d records: ε = %v, %v", records, s.Epsilon(), err)
		}
		if coarse := strings.Contains(s.String(), "so coarse"); coarse != (records > 1_000_000) {
			t.Errorf("%d records: the statement tells of a coarse grid: %v", records, coarse)
		}
	}
}
