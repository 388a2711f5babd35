package swae

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/matching"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// The paper's settings: 600 of 60,000 without replacement over 5,000 steps. Its
// sensitivity is 0.9·2/600 + 0.1·12·1.5·√6/600 = 0.003 + 0.007348; ours has
// 1+√(λ+λ²) = 1.441 in place of 3 at λ = 1/6, that is 0.003 + 0.1·4·1.5·√6·1.441/600 =
// 0.006530. What the paper's way gives for its own calibration is ε.
func TestThePapersTraining(t *testing.T) {
	c := config(experiment.Paper)
	if c.Batch != 600 || c.Steps != 5000 || c.stacks() != 17 || c.Alpha != 0.1 || c.Output != 1.5 || c.Jacobian != math.Sqrt(6) || c.Loss != 1 || c.Exact {
		t.Fatalf("settings %+v", c)
	}
	plan, claims, err := c.plan(60_000, 226_151)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(plan.Sensitivity.Value-0.006530) <= 1e-6) || plan.Sensitivity.Relation != privacy.ReplaceOne {
		t.Errorf("sensitivity %+v, want 0.006530", plan.Sensitivity)
	}
	if plan.Sampler != (sampling.FixedSize{Size: 600}) || plan.Steps != 5250 || plan.Records != 60_000 {
		t.Errorf("%d releases of %v", plan.Steps, plan.Sampler)
	}
	proved, err := accountant.PLD{}.Epsilon(plan.Event(), privacy.ReplaceOne, c.Delta)
	if err != nil || !(proved.Epsilon <= 10 && proved.Epsilon >= 9.99) {
		t.Errorf("proved: %v, %v; want 10", proved.Epsilon, err)
	}
	if len(claims) != 1 || claims[0].Sound || !(claims[0].Epsilon > 10) || !strings.Contains(claims[0].Note, "0.01035") {
		t.Errorf("claims %+v; want one, of more than 10, as the paper's sensitivity is larger", claims)
	}

	c.Published = true
	published, claims, err := c.plan(60_000, 226_151)
	if err != nil || len(claims) != 1 || !(math.Abs(float64(claims[0].Epsilon)-10) <= 1e-3) {
		t.Fatalf("%+v, %v; want a claim of 10", claims, err)
	}
	if ratio := published.NoiseStd / plan.NoiseStd; !(ratio >= 1.5 && ratio <= 1.7) {
		t.Errorf("the paper's noise is %v times ours; its sensitivity is 1.585 times", ratio)
	}
	// What docs/private-gradients.md says that the paper's noise proves.
	for epsilon, want := range map[privacy.Epsilon]float64{10: 3.8101, 5: 2.3447, 1: 0.58368} {
		c.Epsilon = epsilon
		published, _, err := c.plan(60_000, 226_151)
		if err != nil {
			t.Fatal(err)
		}
		if proved, err := (accountant.PLD{}).Epsilon(published.Event(), privacy.ReplaceOne, c.Delta); err != nil || !(math.Abs(proved.Epsilon/want-1) <= 1e-3) {
			t.Errorf("the paper's noise for ε = %v proves %v, %v; want %v", epsilon, proved.Epsilon, err, want)
		}
	}
}

// Without a budget there is no noise, and no claim.
func TestNoBudgetNoNoise(t *testing.T) {
	c := config(experiment.Quick)
	c.Epsilon = privacy.Epsilon(math.Inf(1))
	plan, claims, err := c.plan(60_000, 10)
	if err != nil || plan.NoiseStd != 0 || claims != nil {
		t.Errorf("%+v, %v, %v", plan, claims, err)
	}
}

// A replaced record moves the gradient of its batch by no more than the plan says:
// nothing like it for images, and most of it for the worst that clipping allows. The
// labels' gradients are planned for as the same.
func TestOneRecordMovesAGradientWithinThePlan(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"004's": nil, "classes in the loss": {"supervision": "100", "labels": "0"},
		"no prior": {"supervision": "100", "labels": "0", "law": "4", "alpha": "0"},
	} {
		t.Run(name, func(t *testing.T) { moveOneRecord(t, settings) })
	}
}

func moveOneRecord(t *testing.T, settings map[string]string) {
	c := config(experiment.Quick)
	c.Batch, c.Projections, c.Loss, c.Jacobian, c.Output = 8, 6, 0.5, 0.7, 1.1
	if err := experiment.Apply(&c, settings); err != nil {
		t.Fatal(err)
	}
	tr := untrained(t, &c, &data{backend: goBackend(t), private: &dataset.Dataset{Classes: make([]string, 10)}})
	spread(t, tr, 2.45)
	plan, _, err := c.plan(100, tr.learner.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	x := make([]float32, c.Batch*pixels)
	for i := range x {
		x[i] = rng.Float32()
	}
	images := &dataset.Dataset{Height: side, Width: side, Channels: 1, X: x, Labels: make([]int, c.Batch)}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	batch := tr.batch(images, all, 0)
	before, err := tr.learner.Gradient(batch, c.clipping())
	if err != nil {
		t.Fatal(err)
	}
	var most float64
	for _, make := range []func(i int) float32{
		func(int) float32 { return 0 }, func(int) float32 { return 1 },
		func(i int) float32 { return float32(i % 2) }, func(int) float32 { return float32(math.NaN()) },
		func(i int) float32 { return 1 - x[i] },
	} {
		images.X = slices.Clone(x)
		for i := range pixels {
			images.X[i] = make(i)
		}
		images.Labels[0] = (images.Labels[0] + 1) % 10
		batch = tr.batch(images, all, 0) // the same directions and points, which are the step's
		after, err := tr.learner.Gradient(batch, c.clipping())
		if err != nil {
			t.Fatal(err)
		}
		var squares float64
		for i, v := range after.Values {
			squares += math.Pow(float64(v-before.Values[i]), 2)
		}
		most = max(most, math.Sqrt(squares))
	}
	if !(most <= plan.Sensitivity.Value && most >= 0.05*plan.Sensitivity.Value) {
		t.Errorf("moved by %v, planned for %v", most, plan.Sensitivity.Value)
	}
	if c.Labels == 0 {
		return
	}
	labels, err := newLabeller(tr, plan.Sensitivity)
	if err != nil {
		t.Fatal(err)
	}
	defer labels.learner.Close()
	if got := 2 * labels.limit / float64(c.Batch); !(math.Abs(got/plan.Sensitivity.Value-1) <= 1e-9 && got <= plan.Sensitivity.Value) {
		t.Errorf("labels have the sensitivity %v, planned is %v", got, plan.Sensitivity.Value)
	}
}

// What the optimiser follows is what was released: of a gradient of zeros, the noise
// alone, of the standard deviation planned. Of 226,151 draws it is off by 1/√(2·226,151)
// = 0.0015 (standard error); six of them fail once in 10⁹.
func TestStepsFollowTheRelease(t *testing.T) {
	c := config(experiment.Quick)
	tr := untrained(t, &c, &data{backend: goBackend(t)})
	plan, _, err := c.plan(60_000, tr.learner.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	before, err := tr.learner.Params()
	if err != nil {
		t.Fatal(err)
	}
	gradient := make([]float64, tr.learner.Parameters())
	if err := follow(tr.learner, &matching.Gradient{Values: gradient, Sensitivity: plan.Sensitivity}, plan.Releaser(noise.Seeded(4)), 0, 0.01); err != nil {
		t.Fatal(err)
	}
	var squares float64
	for _, v := range gradient {
		squares += v * v
	}
	if std := math.Sqrt(squares / float64(len(gradient))); !(math.Abs(std/plan.NoiseStd-1) <= 6*0.0015) {
		t.Errorf("noise of %v, planned is %v", std, plan.NoiseStd)
	}
	after, err := tr.learner.Params()
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for i, p := range after {
		for j, v := range p.Value {
			// Adam's first step goes by the rate against each sign, but for next to nothing.
			moved, to := float64(v-before[i].Value[j]), float64(gradient[k])
			if !(math.Abs(to) <= 1e-5) && !(math.Abs(moved+math.Copysign(0.01, to)) <= 1e-4) {
				t.Fatalf("%s: parameter %d moved by %v, the release there is %v", p.Name, j, moved, gradient[k])
			}
			k++
		}
	}
}

// So do the steps of a training: what the autoencoder follows is the gradient of what was
// drawn, with the noise of the plan (bounds as above), and each step of the labels is a
// release, too.
func TestEveryStepIsReleased(t *testing.T) {
	splits, err := few()
	if err != nil {
		t.Fatal(err)
	}
	c := config(experiment.Quick)
	c.Batch, c.Projections, c.Steps, c.Labels, c.Epsilon = 6, 6, 1, 3, 10
	tr := untrained(t, &c, &data{backend: goBackend(t), private: splits.Train, held: splits.Test})
	plan, _, err := c.plan(splits.Train.Len(), tr.coordinates())
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.prepare(plan); err != nil {
		t.Fatal(err)
	}
	release, released := plan.Releaser(noise.Seeded(4)), map[int][]float64{}
	release.Keep(func(step int, values []float64) error { released[step] = slices.Clone(values); return nil })
	at, err := release.Draw(0)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := tr.learner.Gradient(tr.batch(splits.Train, at, c.StartSteps), c.clipping())
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(exact.Values)
	g, err := tr.learn(release, 0)
	if err != nil {
		t.Fatal(err)
	}
	var squares float64
	for i, v := range g.Values {
		squares += math.Pow(v-want[i], 2) / float64(len(want))
	}
	if std := math.Sqrt(squares); !(math.Abs(std/plan.NoiseStd-1) <= 6*0.0015) || !slices.Equal(g.Values, released[0]) {
		t.Errorf("what is followed has noise of %v, planned is %v", std, plan.NoiseStd)
	}
	if err := tr.labels.learn(tr, release, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(released) != plan.Steps || plan.Steps != 4 {
		t.Errorf("%d releases of %d steps", len(released), plan.Steps)
	}
}

// The releaser takes what a plan allows, and nothing more sensitive.
func TestThePlanIsTheOnlyDoor(t *testing.T) {
	c := config(experiment.Quick)
	plan, _, err := c.plan(1000, 10)
	if err != nil {
		t.Fatal(err)
	}
	release := plan.Releaser(noise.Seeded(1))
	worse := plan.Sensitivity
	worse.Value *= 1.01
	if err := release.Release(make([]float64, 10), worse, 0); err == nil {
		t.Error("a query more sensitive than planned was released")
	}
	if err := release.Release(make([]float64, 10), plan.Sensitivity, c.Steps+c.Labels); err == nil {
		t.Error("a step too many was released")
	}
}

// Directions come in whole bases, for which the sharp sensitivity holds, and every step
// has its own, with its own points of the prior.
func TestDirectionsAreBases(t *testing.T) {
	c := config(experiment.Quick)
	tr := &training{config: &c, public: noise.Seeded(1)}
	black := &dataset.Dataset{Height: side, Width: side, Channels: 1, X: make([]float32, 5*pixels)}
	a, b := tr.batch(black, []int{0, 1, 2, 3, 4}, 0), tr.batch(black, []int{0, 1, 2, 3, 4}, 1)
	if a.Directions.Count != 102 || !(math.Abs(a.Directions.Frame()-1./6) <= 1e-6) {
		t.Errorf("%d directions with λ = %v; want 102 with 1/6", a.Directions.Count, a.Directions.Frame())
	}
	if slices.Equal(a.Directions.Data, b.Directions.Data) || slices.Equal(a.Pairs[0].Points, b.Pairs[0].Points) || len(a.Pairs[0].Points) != 5*6 {
		t.Error("steps share directions or points of the prior")
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"batch", "0", "batch is 0"},
		{"steps", "0", "steps is 0"},
		{"labels", "0", "labels is 0"},
		{"supervision", "-1", "supervision is -1"},
		{"supervision", "5", "labels=0"},
		{"law", "-1", "law is -1"},
		{"law", "10", "alpha=0"},
		{"latent", "0", "latent is 0"},
		{"projections", "0", "projections is 0"},
		{"samples", "10", "from 100 to"},
		{"samples", "1125899906842624", "from 100 to"},
		{"projections", "4611686018427387904", "from 1 to"},
		{"latent", "1099511627776", "from 1 to"},
		{"passes", "-1", "passes is -1"},
		{"passes", "101", "passes is 101"},
		{"grain", "1.5", "grain is 1.5"},
		{"grain", "-0.1", "grain is -0.1"},
		{"gain", "0", "gain is 0"},
		{"output", "0", "output (M) is 0"},
		{"jacobian", "-1", "jacobian (L) is -1"},
		{"loss", "0", "loss (C) is 0"},
		{"learning_rate", "0", "learning_rate is 0"},
		{"alpha", "1.5", "from 0 to 1"},
		{"reduction", "max", `"sum" or "mean"`},
		{"schedule", "falling", `"constant" or "cosine"`},
		{"start", "glyphs", "set both"},
		{"start_steps", "5", "set both"},
		{"epsilon", "-1", "cannot be"},
		{"delta", "2", "δ"},
		{"dataset", "mnits", "mnist"},
	} {
		_, err := experiment.Request{Experiment: "dp-swae", Settings: map[string]string{"dataset": "glyphs", c.name: c.value}}.Spec()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v; want it to say %q", c.name, c.value, err, c.want)
		}
	}
	for _, c := range []struct {
		settings map[string]string
		want     string
	}{
		{map[string]string{"start": "few-glyphs", "start_steps": "5"}, "not public"},
		{map[string]string{"published": "true", "epsilon": "inf"}, "leave it out"},
	} {
		c.settings["dataset"] = "glyphs"
		if _, err := (experiment.Request{Experiment: "dp-swae", Settings: c.settings}).Spec(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want it to say %q", c.settings, err, c.want)
		}
	}
}
