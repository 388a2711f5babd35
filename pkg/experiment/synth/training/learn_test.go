package training

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/privacy/noise"
)

// Without noise a training recovers where each class is, how far it spreads, and how
// often it occurs.
func TestATrainingLearnsItsClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	records := make(table, 3000)
	of := func(class int) record {
		return record{float32(class)*0.7 - 0.35 + 0.1*float32(rng.NormFloat64()), 0.25 * float32(rng.NormFloat64()), class}
	}
	for i := range records {
		records[i] = of([]int{0, 1, 1, 1}[rng.IntN(4)])
	}
	const steps = 500
	m := small(2, func(m *Method) { m.Batch, m.Generated, m.Debiasing, m.Steps, m.Entropy = 32, 32, 1, steps, 0.05 })
	training, _ := started(t, m, records)
	first := 0.0
	for step := range steps {
		if err := training.Step(step); err != nil {
			t.Fatal(err)
		}
		if step == 9 {
			told, err := training.Tell()
			if err != nil {
				t.Fatal(err)
			}
			first = told[lossName]
		}
	}
	if told, err := training.Tell(); err != nil || !(told[lossName] < first) || !(told["moved"] > 0.1) {
		t.Errorf("from a loss of %v to %v, %v", first, told, err)
	}
	if f := m.Frequencies(); !(math.Abs(f[1]-0.75) <= 0.02) {
		t.Errorf("frequencies of %v", f)
	}
	for class := range 2 {
		x, err := m.Generate(slices.Repeat([]int{class}, 2000), rng)
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares [2]float64
		for i := range x.Len() {
			for k, v := range x.Row(i) {
				sum[k] += float64(v) / 2000
				squares[k] += float64(v) * float64(v) / 2000
			}
		}
		wide := math.Sqrt(squares[1] - sum[1]*sum[1])
		// One law for both classes would be at 0.175, and nothing spread is 0 wide.
		if !(math.Abs(sum[0]-(float64(class)*0.7-0.35)) <= 0.12 && math.Abs(sum[1]) <= 0.1 && math.Abs(wide/0.25-1) <= 0.4) {
			t.Errorf("class %d is at %v, and %v wide", class, sum, wide)
		}
	}
}

// With noise of its own a training ends before the step that would spend more.
func TestStepsArePlannedFromTheBudget(t *testing.T) {
	m := small(3, func(m *Method) { m.Budget.Epsilon, m.Noise, m.Steps, m.Batch = 1, 1, 1_000_000, 10 })
	plan, err := m.Plan(1000)
	if err != nil {
		t.Fatal(err)
	}
	epsilon := func(steps int) float64 {
		plan.Steps = steps
		s, err := plan.Statement(noise.Seeded(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		return float64(s.Epsilon())
	}
	steps := plan.Steps
	if steps < 10 || !(epsilon(steps) <= 1 && epsilon(steps+max(1, steps/100)) >= 1) {
		t.Errorf("%d steps have ε = %v, 1 %% more have %v; the budget is 1", steps, epsilon(steps), epsilon(steps+max(1, steps/100)))
	}
	for want, change := range map[string]func(*Method){
		"at most all":    func(m *Method) { m.Batch = 1001 },
		"take at least":  func(m *Method) { m.LabelScale = 1e6 },
		"one step alone": func(m *Method) { m.Budget.Epsilon, m.Noise, m.Batch = 0.01, 0.05, 500 },
	} {
		m := small(3, func(m *Method) { m.Budget.Epsilon = 1 })
		change(m)
		if _, err := m.Plan(1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	good := small(1, nil).Settings
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Settings){
		"batch is 0":         func(s *Settings) { s.Batch = 0 },
		"width is 10001":     func(s *Settings) { s.Width = 10_001 },
		"entropy is NaN":     func(s *Settings) { s.Entropy = math.NaN() },
		"bound is -1":        func(s *Settings) { s.Bound = -1 },
		"learning_rate is 0": func(s *Settings) { s.LearningRate = 0 },
		"debiasing is 2":     func(s *Settings) { s.Debiasing = 2 },
		"noise is -1":        func(s *Settings) { s.Noise = -1 },
	} {
		s := good
		if change(&s); s.Check() == nil || !strings.Contains(s.Check().Error(), want) {
			t.Errorf("want an error with %q, found %v", want, s.Check())
		}
	}
}

// Estimates go from equal frequencies to those that were counted, and are frequencies
// whatever the noise says.
func TestFrequenciesOfATally(t *testing.T) {
	y := tally{sums: make([]float64, 4), batch: 10, noise: 0.1}
	if f := y.frequencies(); !slices.Equal(f, []float64{0.25, 0.25, 0.25, 0.25}) {
		t.Errorf("before the first step %v", f)
	}
	y.add([]float64{10, 5, -3, -2})
	f := y.frequencies()
	if !(f[0] > 0.25 && f[0] < 1 && f[2] >= 0 && f[3] < 0.25 && math.Abs(f[0]+f[1]+f[2]+f[3]-1) <= 1e-12) {
		t.Errorf("after a step %v", f)
	}
	for range 10_000 {
		y.add([]float64{1, 2, 3, 4})
	}
	for k, v := range y.frequencies() {
		if !(math.Abs(v-float64(k+1)/10) <= 1e-3) {
			t.Errorf("class %d is %v", k, v)
		}
	}
	if f := (&tally{sums: []float64{-9, -9}, batch: 1, steps: 1}).frequencies(); f[0] != 0.5 {
		t.Errorf("of nothing but noise %v", f)
	}
}

// Classes are drawn as often as their frequencies say, up to one more or less, and each
// place is of each class as often.
func TestClassesAreDrawnByTheirFrequencies(t *testing.T) {
	f, rng := []float64{0.5, 0, 0.3, 0.2}, rand.New(rand.NewPCG(3, 3))
	var first, all [4]float64
	const draws, n = 20_000, 7
	for range draws {
		var counts [4]float64
		for i, class := range draw(f, n, rng) {
			if i == 0 {
				first[class]++
			}
			counts[class]++
			all[class]++
		}
		for k, v := range f {
			if !(math.Abs(counts[k]-v*n) < 1+1e-9) {
				t.Fatalf("of %d there are %v of class %d", n, counts[k], k)
			}
		}
	}
	// 6 standard deviations of a frequency of ½: a false alarm in 10⁸ seeds.
	for k, v := range f {
		if !(math.Abs(first[k]/draws-v) <= 6*0.5/math.Sqrt(draws) && math.Abs(all[k]/draws/n-v) <= 6*0.5/math.Sqrt(draws)) {
			t.Errorf("class %d is drawn %v of the times, first %v", k, all[k]/draws/n, first[k]/draws)
		}
	}
}
