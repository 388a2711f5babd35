package fair

import (
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/privacy/noise"
)

// people are 12 records, three for each group and label.
func people() *Records {
	r := &Records{Dim: 2, X: make([]float32, 24), Response: make([]float32, 24), Origin: "by hand"}
	for i := range 12 {
		r.Group, r.Label = append(r.Group, i%2), append(r.Label, i/2%2)
		r.X[2*i], r.X[2*i+1] = float32(i)/12, float32(i%2)
	}
	return r
}

// bare are settings of fair-classification for people.
func bare(t *testing.T) *Config {
	t.Helper()
	c := Experiment{kinds[0]}.Config("quick").(*Config)
	c.Share, c.Delta, c.Steps, c.Criterion = 0.5, 0.01, 3, Odds
	return c
}

func start(t *testing.T, c *Config, r *Records) (*training, error) {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go")
	on, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	made, err := newTraining(c, on, r, noise.Seeded(1), noise.Seeded(1))
	if err == nil {
		made.release = made.Releaser(noise.Seeded(1))
		t.Cleanup(made.learner.Close)
	}
	return made, err
}

// What is wrong with records is said with the group and what to do, before anything is
// planned.
func TestRecordsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Records, *Config)
		says  []string
	}{
		"an empty group": {func(r *Records, c *Config) { clear(r.Group) }, []string{"A = 1, Y = 0 is empty", "bring more records"}},
		"an empty group by parity": {func(r *Records, c *Config) {
			clear(r.Group)
			c.Criterion = Parity
		}, []string{"the group A = 1 is empty", "bring more records"}},
		"a single member": {func(r *Records, c *Config) {
			clear(r.Group)
			r.Group[0], r.Group[2], r.Group[4] = 1, 1, 1 // labels 0, 1, 0
		}, []string{"A = 1, Y = 1 has a single member", "bring more records"}},
		"a label of 2":     {func(r *Records, c *Config) { r.Label[3] = 2 }, []string{"record 3", "label Y 2", "recode"}},
		"a group of −1":    {func(r *Records, c *Config) { r.Group[5] = -1 }, []string{"record 5", "group A -1", "recode"}},
		"labels missing":   {func(r *Records, c *Config) { r.Label = r.Label[:3] }, []string{"label Y", "3 of 12"}},
		"a row too short":  {func(r *Records, c *Config) { r.X = r.X[:23] }, []string{"23 numbers", "12 records"}},
		"too few to share": {func(r *Records, c *Config) { c.Share = 0.1 }, []string{"A = 0, Y = 0 has 3 records", "share to at least 0.333"}},
		"α":                {func(r *Records, c *Config) { c.Alpha = 2 }, []string{"α is 2"}},
		"M":                {func(r *Records, c *Config) { c.Limit = 0 }, []string{"limit M"}},
	} {
		r, config := people(), bare(t)
		c.spoil(r, config)
		_, err := start(t, config, r)
		for _, want := range c.says {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want it to say %q", name, err, want)
			}
		}
	}
	r := people()
	r.Response = nil
	c := bare(t)
	c.kind, c.Criterion, c.Hidden = kinds[1], Parity, 2
	if _, err := start(t, c, r); err == nil || !strings.Contains(err.Error(), "no continuous response") {
		t.Errorf("nothing to predict: %v", err)
	}
}

// Batches have so many records of each group, group by group, and pairs that say
// where they stand; a step's are always the same.
func TestBatchesAreStratified(t *testing.T) {
	r := people()
	for i := range 12 { // a record's first feature is its place
		r.X[2*i] = float32(i)
	}
	made, err := start(t, bare(t), r)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for step := range 3 {
		b, err := made.draw(step)
		if err != nil {
			t.Fatal(err)
		}
		again, err := made.draw(step)
		if err != nil || len(b.X) != 8 || len(b.Pairs) != 2 {
			t.Fatalf("%d numbers, %d pairs, %v; want one of three records of each group", len(b.X), len(b.Pairs), err)
		}
		for k, pair := range b.Pairs {
			for a, at := range [][]int{pair.A, pair.B} {
				if len(at) != 1 {
					t.Fatalf("step %d: %v", step, pair)
				}
				i := int(b.X[2*at[0]])
				if r.Group[i] != a || r.Label[i] != k || b.Target[at[0]] != float32(k) {
					t.Errorf("step %d: record %d stands for A = %d, Y = %d, with target %v", step, i, a, k, b.Target[at[0]])
				}
				if again.X[2*at[0]] != float32(i) {
					t.Errorf("step %d was drawn differently again", step)
				}
				seen[i] = true
			}
		}
	}
	if len(seen) < 6 {
		t.Errorf("three steps saw the records %v", seen)
	}
}

// A step hands its gradient to the releaser with the sensitivity that its batch has.
// The releaser refuses a step whose batch could be moved further than was planned, and
// the model stays where it is.
func TestTheReleaserRefusesMoreThanPlanned(t *testing.T) {
	for name, spoil := range map[string]func(*training){
		"a larger limit": func(s *training) { s.config.Limit *= 1.001 },
		"a larger L":     func(s *training) { s.config.Jacobian *= 1.001 },
		"a larger C":     func(s *training) { s.config.LossLimit *= 1.001 },
	} {
		c := bare(t)
		made, err := start(t, c, people())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.step(0); err != nil {
			t.Fatal(err)
		}
		before, err := made.learner.Params()
		if err != nil {
			t.Fatal(err)
		}
		spoil(made)
		if _, err := made.step(1); err == nil || !strings.Contains(err.Error(), "sensitivity") {
			t.Errorf("%s: %v", name, err)
		}
		after, err := made.learner.Params()
		if err != nil || before[0].Value[0] != after[0].Value[0] {
			t.Errorf("%s: a refused step moved the model, %v", name, err)
		}
		made.config = bare(t)
		if _, err := made.step(3); err == nil || !strings.Contains(err.Error(), "budget is spent") {
			t.Errorf("%s: a step too many: %v", name, err)
		}
	}
}

// clipped is the gradient of the first step, before its noise.
func clipped(t *testing.T, made *training, c *Config) []float64 {
	t.Helper()
	b, err := made.draw(0)
	if err != nil {
		t.Fatal(err)
	}
	g, err := made.learner.Gradient(b, c.clipping())
	if err != nil {
		t.Fatal(err)
	}
	return g.Values
}

// What a step follows is what was released, which is not the gradient of its batch; with
// a small rate the model moves by that, against each number.
func TestAStepFollowsItsRelease(t *testing.T) {
	c := bare(t)
	c.LearningRate = 1e-3
	made, err := start(t, c, people())
	if err != nil {
		t.Fatal(err)
	}
	var released []float64
	made.release.Keep(func(_ int, values []float64) error { released = slices.Clone(values); return nil })
	params := func() (all []float32) {
		found, err := made.learner.Params()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			all = append(all, p.Value...)
		}
		return all
	}
	exact, before := slices.Clone(clipped(t, made, c)), params()
	if _, err := made.step(0); err != nil {
		t.Fatal(err)
	}
	after := params()
	if len(released) != len(before) {
		t.Fatalf("%d numbers are released of %d", len(released), len(before))
	}
	for i, v := range released {
		if moved := float64(before[i]-after[i]) / 1e-3; !(math.Abs(moved-v) <= 1e-3*(1+math.Abs(v))) || !(math.Abs(v-exact[i]) > 1e-6*made.NoiseStd) {
			t.Errorf("parameter %d moves along %v; released is %v, the gradient is %v", i, moved, v, exact[i])
		}
	}
}

// What a step is planned for holds: replacing any record of a batch by the worst of its
// group moves the clipped gradient by no more, and by a good part of it.
func TestNeighboursMoveAStepByWhatIsPlanned(t *testing.T) {
	c := bare(t)
	c.Criterion, c.Share, c.Alpha = Parity, 1, 0.9
	c.Limit, c.Jacobian, c.LossLimit = 0.3, 0.05, 0.05 // all of them clip
	r := people()
	made, err := start(t, c, r)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func() []float64 { return clipped(t, made, c) }
	before, most := gradient(), 0.0
	for i := range r.Len() {
		was := [3]float32{r.X[2*i], r.X[2*i+1], made.target[i]}
		for _, x := range [][3]float32{{50, 50, 0}, {-50, -50, 1}, {-50, 50, 1}, {50, -50, 0}, {0, 0, 1}, {1e30, 0, 0}} {
			r.X[2*i], r.X[2*i+1], made.target[i] = x[0], x[1], x[2]
			sum := 0.0
			for k, v := range gradient() {
				sum += float64(v-before[k]) * float64(v-before[k])
			}
			most = max(most, sum)
		}
		r.X[2*i], r.X[2*i+1], made.target[i] = was[0], was[1], was[2]
	}
	planned := made.Sensitivity.Value
	if !(most <= planned*planned && most >= planned*planned/100) {
		t.Errorf("a neighbour moves the gradient by %.3g² of the planned %.3g²", most, planned*planned)
	}
}
