package swae

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/harmonic"
)

// lawful are settings of a training with a law.
func lawful() *Config {
	c := config(experiment.Quick)
	c.Latent, c.Batch, c.Steps, c.Labels, c.Law, c.Alpha = 4, 50, 3, 1, 40, 0
	return &c
}

// equipped is a training with a law for a plan on 2,000 records.
func equipped(t *testing.T, c *Config) (*training, privacy.Plan) {
	t.Helper()
	tr := untrained(t, c, &data{backend: goBackend(t)})
	plan, _, err := c.plan(2000, tr.learner.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	if tr.law, err = newLaw(tr.config, plan); err != nil {
		t.Fatal(err)
	}
	return tr, plan
}

// Replacing a record moves what a step releases by no more than the plan says, and the
// worst that is known by nearly as much: a code that is far from where it was, for the
// harmonics. No more is moved by one that is not finite, or not on the sphere.
func TestOneCodeMovesTheLawWithinThePlan(t *testing.T) {
	c := lawful()
	tr, plan := equipped(t, c)
	rng := rand.New(rand.NewPCG(1, 1))
	codes := func() []float32 {
		x := transport.NewPoints(c.Batch, c.Latent)
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
		x.OnSphere()
		return x.Data
	}
	var most float64
	for try := range 20 {
		before := codes()
		after := slices.Clone(before)
		place := after[:c.Latent]
		cos := harmonic.Farthest(c.Latent, tr.law.basis.Degree)
		switch try {
		case 0: // as far as can be
			copy(before, []float32{1, 0, 0, 0})
			copy(place, []float32{float32(cos), float32(math.Sqrt(1 - cos*cos)), 0, 0})
		case 1:
			copy(place, []float32{float32(math.NaN()), 0, 0, 0})
		case 2:
			copy(place, []float32{-1e30, 1e20, 0, 0})
		case 3:
			clear(place)
		default:
			copy(place, codes())
		}
		a, err := tr.law.query(before)
		if err != nil {
			t.Fatal(err)
		}
		b, err := tr.law.query(after)
		if err != nil {
			t.Fatal(err)
		}
		var squares float64
		for i := range a {
			squares += (a[i] - b[i]) * (a[i] - b[i])
		}
		most = max(most, math.Sqrt(squares))
	}
	if s := plan.Sensitivity.Value; !(most <= s && most > 0.99*s) {
		t.Errorf("moved by %v, planned for %v", most, s)
	}
	if plan.Steps != c.Steps+c.Labels+c.Law {
		t.Errorf("%d releases are planned", plan.Steps)
	}
}

// Learned means differ from those over the batches that were drawn by noise of the
// standard deviation that they are said to have. Of k numbers its root mean square is off
// by 1/√(2k) (standard error), and six of these fail once in 10⁹.
func TestTheLawKnowsItsNoise(t *testing.T) {
	splits, err := few()
	if err != nil {
		t.Fatal(err)
	}
	c := lawful()
	tr := untrained(t, c, &data{backend: goBackend(t), private: splits.Train, held: splits.Test})
	plan, _, err := c.plan(splits.Train.Len(), tr.learner.Parameters())
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.prepare(plan); err != nil {
		t.Fatal(err)
	}
	l, release, said := tr.law, plan.Releaser(noise.Seeded(3)), 0
	if err := l.learn(tr, release, func(done int) error { said = done; return nil }); err != nil {
		t.Fatal(err)
	}
	exact := make([]float64, len(l.kept.Means))
	for k := range c.Law {
		at, err := release.Draw(c.Steps + c.Labels + k)
		if err != nil {
			t.Fatal(err)
		}
		codes, err := tr.learner.Inner(rows(splits.Train, at))
		if err != nil {
			t.Fatal(err)
		}
		values, err := l.query(codes)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			exact[i] += v / l.scale / float64(c.Law)
		}
	}
	var squares float64
	for i, v := range l.kept.Means {
		squares += math.Pow(v-exact[i], 2) / float64(len(exact))
	}
	if off := math.Abs(math.Sqrt(squares)/l.kept.Std - 1); !(off < 6/math.Sqrt(2*float64(len(exact)))) || len(exact) < 50 || said != c.Law {
		t.Errorf("noise of %v on %d numbers after %d steps, want %v", math.Sqrt(squares), len(exact), said, l.kept.Std)
	}
}

// What is drawn lies as codes do: near them, and nothing like uniform points of the
// sphere.
func TestWhatIsDrawnLiesAsCodesDo(t *testing.T) {
	c := lawful()
	tr, _ := equipped(t, c)
	rng := rand.New(rand.NewPCG(2, 2))
	codes := transport.NewPoints(2000, c.Latent)
	for i := range codes.Len() { // two heaps
		for k := range c.Latent {
			codes.Row(i)[k] = float32(0.3 * rng.NormFloat64())
		}
		codes.Row(i)[i%2] += 1
	}
	codes.OnSphere()
	exact, err := tr.law.query(slices.Clone(codes.Data))
	if err != nil {
		t.Fatal(err)
	}
	l := tr.law
	for _, v := range exact {
		l.kept.Means = append(l.kept.Means, v/l.scale+l.kept.Std*rng.NormFloat64())
	}
	near, err := tr.toLaw(t.Context(), codes.Data)
	if err != nil {
		t.Fatal(err)
	}
	uniform := transport.NewPoints(2000, c.Latent)
	for i := range uniform.Data {
		uniform.Data[i] = float32(rng.NormFloat64())
	}
	uniform.OnSphere()
	far, err := metric.SlicedW2{Stacks: metric.DefaultStacks}.Measure(codes, uniform, rng)
	if err != nil || !(near < 0.25*far.Value) {
		t.Errorf("drawn points are %v from codes, uniform ones %v, %v", near, far.Value, err)
	}
	c.Epsilon = privacy.Epsilon(math.Inf(1)) // no noise, and a law all the same
	free, _ := equipped(t, c)
	if exact, err = free.law.query(codes.Data); err != nil || free.law.kept.Std != 0 {
		t.Fatalf("without a budget the law has noise %v, %v", free.law.kept.Std, err)
	}
	for _, v := range exact {
		free.law.kept.Means = append(free.law.kept.Means, v/free.law.scale)
	}
	if nearer, err := free.toLaw(t.Context(), codes.Data); err != nil || !(nearer < near) {
		t.Errorf("without noise drawn points are %v from codes, with %v, %v", nearer, near, err)
	}
	few, err := tr.draw(t.Context(), 10)
	many, other := tr.draw(t.Context(), 20)
	if err != nil || other != nil || !slices.Equal(few.Data, many.Data[:10*c.Latent]) {
		t.Errorf("points are drawn anew: %v, %v", err, other)
	}
}

// A training with a law that was interrupted ends as another; what it leaves tells where
// codes lie, its picture has what was drawn behind codes, and it is measured again as it
// was.
func TestALawIsReleasedOnce(t *testing.T) {
	t.Setenv(run.IntervalVariable, "0s")
	settings := map[string]string{"alpha": "0", "law": "3", "steps": "3", "latent": "3", "supervision": "30", "labels": "0"}
	whole := compute(t, settings, 0)
	for _, at := range []int{2, 5} { // in the autoencoder's steps, in the law's
		parts := compute(t, settings, at)
		for _, name := range []string{autoencoderFile, lawFile, drawnFile} {
			if !bytes.Equal(experimenttest.Read(t, whole, name), experimenttest.Read(t, parts, name)) {
				t.Errorf("interrupted at step %d, the training ended with another %s", at, name)
			}
		}
	}
	result, err := whole.Result()
	if err != nil || !(result.Metrics[ToPrior] >= 0) {
		t.Fatalf("%v, %v", result.Metrics, err)
	}
	again, err := experiment.Measure(t.Context(), whole, "mlp", 100, func(run.Event) {})
	if err != nil || again.Values["mlp accuracy"] != result.Metrics["mlp accuracy"] {
		t.Errorf("measured again: %+v, %v; first %v", again, err, result.Metrics)
	}
	codes, err := CodesOf(whole)
	if err != nil || len(codes.Drawn) != scattered*3 {
		t.Errorf("%d numbers of what was drawn, %v", len(codes.Drawn), err)
	}
	if f, ok := codes.Figure(); !ok || f.Title != "Codes of held-out images by class, over what images are generated from (grey)" {
		t.Errorf("the figure of codes: %q, %v", f.Title, ok)
	}
	checkAudit(t, whole)
}
