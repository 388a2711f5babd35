package fair

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/models/matching"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/clip"
	"molehill/privacy/noise"
)

func saddleConfig(t *testing.T, k *saddleKind) *SaddleConfig {
	t.Helper()
	c := Saddle{k}.Config(experiment.Quick).(*SaddleConfig)
	c.Dataset, c.Records, c.Held, c.Delta = "biased", 2000, 500, 1e-4
	return c
}

// Slopes are those of ψ, by differences.
func TestPenaltySlopes(t *testing.T) {
	const h = 1e-6
	random := rand.New(rand.NewPCG(1, 1))
	share := [2]float64{0.3, 0.7}
	values := map[string]func(u []float64, p float64, a int) float64{
		"fair-adult-ermi": func(w []float64, p float64, a int) (psi float64) {
			for j, f := range [2]float64{1 - p, p} {
				psi += 2*w[2*a+j]*f/math.Sqrt(share[a]) - (w[j]*w[j]+w[2+j]*w[2+j])*f
			}
			return psi - 1
		},
		"fair-adult-lagrangian": func(u []float64, p float64, a int) float64 {
			return u[0] * p * [2]float64{-1 / 0.3, 1 / 0.7}[a]
		},
	}
	for _, k := range saddleKinds {
		psi, penalty := values[k.Name], k.penalty(share)
		if n := len(penalty.start()); n != k.dual {
			t.Fatalf("%s: %d dual variables, want %d", k.Name, n, k.dual)
		}
		for range 20 {
			u, by := make([]float64, k.dual), make([]float64, k.dual)
			for i := range u {
				u[i] = random.Float64()
			}
			p, a := random.Float64(), random.IntN(2)
			slope := penalty.slopes(u, p, a, by)
			if want := (psi(u, p+h, a) - psi(u, p-h, a)) / (2 * h); !(math.Abs(slope-want) <= 1e-6) {
				t.Fatalf("%s: slope %v by p, want %v", k.Name, slope, want)
			}
			for i := range u {
				more, less := slices.Clone(u), slices.Clone(u)
				more[i] += h
				less[i] -= h
				if want := (psi(more, p, a) - psi(less, p, a)) / (2 * h); !(math.Abs(by[i]-want) <= 1e-6) {
					t.Fatalf("%s: slope %v by dual variable %d, want %v", k.Name, by[i], i, want)
				}
			}
		}
	}
}

// The best dual variables are those that the papers have: there all slopes by them
// cancel, and ψ is on average the mutual information, Σ P(j, a)²/(P(j)P(a)) − 1.
func TestErmiAtItsBest(t *testing.T) {
	scores, group := []float64{0.1, 0.4, 0.8, 0.6}, []int{0, 1, 1, 1}
	share := [2]float64{0.25, 0.75}
	var joint [2][2]float64 // [j][a]
	for i, p := range scores {
		joint[0][group[i]] += (1 - p) / 4
		joint[1][group[i]] += p / 4
	}
	w, want := make([]float64, 4), -1.
	for j := range 2 {
		for a := range 2 {
			own := joint[j][0] + joint[j][1]
			w[2*a+j] = joint[j][a] / (math.Sqrt(share[a]) * own)
			want += joint[j][a] * joint[j][a] / (own * share[a])
		}
	}
	sum, by, found := make([]float64, 4), make([]float64, 4), -1.
	for i, p := range scores {
		ermi{share}.slopes(w, p, group[i], by)
		for k, slope := range by {
			sum[k] += slope / 4
			// ψ + 1 is Σ W·(slope/2 + own/√P), own being F of the record's group.
			found += w[k] * slope / 8
			if k/2 == group[i] {
				found += w[k] * [2]float64{1 - p, p}[k%2] / math.Sqrt(share[group[i]]) / 4
			}
		}
	}
	for k, slope := range sum {
		if !(math.Abs(slope) <= 1e-12) {
			t.Errorf("slope %v by W %d", slope, k)
		}
	}
	if !(math.Abs(found-want) <= 1e-12 && want >= 0.01) {
		t.Errorf("ψ is %v, want %v", found, want)
	}
	projected := []float64{-1, 3, 0.5, 3}
	ermi{share}.project(projected)
	if !slices.Equal(projected, []float64{0, 2, 0.5, 1 / math.Sqrt(0.75)}) {
		t.Errorf("projected to %v", projected)
	}
}

// Whoever is replaced by whomever of their group, gradients move by 2C/n at most, and do
// so for opposite records; without clipping they would move further. One that is not
// finite moves nothing more.
func TestNeighboursOfASaddle(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for _, k := range saddleKinds {
		c := saddleConfig(t, k)
		farthest := 0.
		for trial := range 300 {
			c.Alpha, c.LossLimit, c.DualShare = random.Float64(), 0.2+random.Float64(), 0.1+random.Float64()
			if trial%3 == 0 {
				c.Alpha = 0
			}
			const n, dim = 6, 3
			r := &Records{Dim: dim, X: make([]float32, n*dim), Group: []int{0, 0, 1, 1, 1, 1}, Label: make([]int, n)}
			for i := range r.X {
				r.X[i] = float32(3 * random.NormFloat64())
			}
			d := newDuel(c, r)
			for i := range d.weights {
				d.weights[i] = random.NormFloat64() / 3
			}
			for i := range d.dual {
				d.dual[i] += random.NormFloat64() / 3
			}
			d.penalty.project(d.dual)
			other := &Records{Dim: dim, X: slices.Clone(r.X), Group: r.Group, Label: slices.Clone(r.Label)}
			i := random.IntN(n)
			for j := range dim {
				switch trial % 3 {
				case 0: // opposite labels of long rows: clipped to ±C along the same direction
					r.X[i*dim+j] *= 1000
					other.X[i*dim+j] = r.X[i*dim+j]
				case 1:
					other.X[i*dim+j] = float32(10 * random.NormFloat64())
				default:
					other.X[i*dim+j] = float32([]float64{math.NaN(), math.Inf(1), 1e38}[random.IntN(3)])
				}
			}
			other.Label[i] = 1 - r.Label[i]
			if trial%3 == 0 { // a score between its labels
				for j := range d.weights {
					d.weights[j] = 0
				}
				d.dual = d.penalty.start()
			}
			d.norms = newDuel(c, r).norms
			e := newDuel(c, other)
			e.weights, e.dual = d.weights, d.dual
			rows := []int{0, 1, 2, 3, 4, 5}
			one, two := d.gradient(rows), e.gradient(rows)
			for j := range one {
				one[j] -= two[j]
			}
			s, err := c.sensitivity(n)
			if err != nil || !(math.Abs(s.Value-2*c.LossLimit/n) <= 1e-15) || s.Relation != privacy.KEnd {
				t.Fatalf("sensitivity %+v, %v", s, err)
			}
			ratio := clip.Norm(one) / s.Value
			if !(ratio <= 1) {
				t.Fatalf("%s: moved by %v of the sensitivity", k.Name, ratio)
			}
			farthest = max(farthest, ratio)
		}
		if !(farthest >= 0.99) {
			t.Errorf("%s: moved by at most %v of the sensitivity, which should be attained", k.Name, farthest)
		}
	}
}

// Of as many rows as there may be, sums stay as near to what they are of real numbers as
// clipping leaves room for: of rows that are all alike, whose mean is each one's gradient, by
// less than 2⁻²¹C/n.
func TestALargeSaddle(t *testing.T) {
	const n = 1_000_000
	c := saddleConfig(t, saddleKinds[0])
	c.LossLimit = 0.1
	r := &Records{Dim: 1, X: slices.Repeat([]float32{3}, n), Group: make([]int, n), Label: make([]int, n)}
	r.Group[n-1] = 1
	d, rows := newDuel(c, r), make([]int, n)
	one, all := d.gradient(rows[:1]), d.gradient(rows)
	for j := range all {
		all[j] -= one[j]
	}
	if off := clip.Norm(all) * n / c.LossLimit; !(off <= 0x1p-21) {
		t.Errorf("rounding moves the sum by %v of what is clipped to", off)
	}
	if !(clip.Norm(one) >= 0.99*c.LossLimit) {
		t.Errorf("a gradient of norm %v is not clipped to %v", clip.Norm(one), c.LossLimit)
	}
}

// A plan proves its ε for noise on 2C/n, for the densest group.
func TestSaddlePlan(t *testing.T) {
	for _, k := range saddleKinds {
		c := saddleConfig(t, k)
		c.Steps, c.Epsilon = 50, 3
		r, _, err := biased(c.byLossAlone())
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.promise(r)
		if err != nil {
			t.Fatal(err)
		}
		_, sizes, err := r.categories(groups(Parity))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.
		for g, size := range sizes {
			found, err := accountant.PLD{}.Epsilon(accountant.SelfComposed{Count: 50, Event: accountant.FixedSizeSampled{
				Size: p.taken[g], Population: size, Event: accountant.Gaussian{NoiseMultiplier: p.NoiseStd / (2 * c.LossLimit / float64(p.taken[0]+p.taken[1]))}}},
				privacy.ReplaceOne, c.Delta)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, found.Epsilon)
		}
		if !(worst <= 3.0001 && worst >= 2.99) {
			t.Errorf("%s: ε = %v proved, want 3", k.Name, worst)
		}
		if p.Coordinates != r.Dim+1+k.dual || slices.Contains(p.notCovered, matching.NotCovered) {
			t.Errorf("%s: %d coordinates, not covered %q", k.Name, p.Coordinates, p.notCovered)
		}
	}
}

// A training follows what it releases, step by step, and nothing else of its records: the
// gradients of the samples with the noise of the plan. Of k numbers its root mean square is
// off by 1/√(2k) (standard error); six of these fail once in 10⁹.
func TestASaddleFollowsItsReleases(t *testing.T) {
	for _, k := range saddleKinds {
		c := saddleConfig(t, k)
		c.Steps, c.Epsilon = 60, 3
		train, _, err := biased(c.byLossAlone())
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.promise(train)
		if err != nil {
			t.Fatal(err)
		}
		release, released := p.Releaser(noise.Seeded(3)), [][]float64{}
		release.Keep(func(step int, values []float64) error {
			if step != len(released) {
				t.Errorf("%s: step %d is released after %d others", k.Name, step, len(released))
			}
			released = append(released, slices.Clone(values))
			return nil
		})
		d, again := newDuel(c, train), newDuel(c, train)
		if err := d.learn(t.Context(), prepared(t, k.Name, map[string]string{"dataset": "biased"}), p, release); err != nil {
			t.Fatal(err)
		}
		if len(released) != c.Steps {
			t.Fatalf("%s: %d releases of %d steps", k.Name, len(released), c.Steps)
		}
		var squares, count float64
		for step, values := range released {
			rows, err := release.Draw(step)
			if err != nil {
				t.Fatal(err)
			}
			for i, exact := range again.gradient(rows) {
				squares, count = squares+math.Pow(values[i]-exact, 2), count+1
			}
			if err := again.step(values); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(d.weights, again.weights) || !slices.Equal(d.dual, again.dual) {
			t.Errorf("%s: the training is elsewhere than its releases lead to", k.Name)
		}
		if std := math.Sqrt(squares / count); !(math.Abs(std/p.NoiseStd-1) <= 6/math.Sqrt(2*count)) || count < 1000 {
			t.Errorf("%s: noise of %v on %v numbers, planned is %v", k.Name, std, count, p.NoiseStd)
		}
	}
}

// More weight on either penalty takes the gap away, and what has been interrupted ends
// as if it had not been.
func TestSaddleRuns(t *testing.T) {
	for _, k := range saddleKinds {
		settings := map[string]string{"dataset": "biased", "steps": "150", "epsilon": "9", "learning_rate": "1", "loss_limit": "4", "dual_rate": "0.1"}
		with := func(alpha string) run.Values {
			settings["alpha"] = alpha
			return experimenttest.Metrics(t, compute(t, k.Name, settings, 0))
		}
		unfair, fair := with("0"), with("0.8")
		if !(unfair["parity gap"] > 0.4 && fair["parity gap"] < unfair["parity gap"]/2 && unfair["accuracy"] > 0.78 && fair["accuracy"] > 0.6) {
			t.Errorf("%s: fair %v; not %v", k.Name, fair, unfair)
		}
		settings["steps"] = "20"
		whole, parts := compute(t, k.Name, settings, 0), prepared(t, k.Name, settings)
		if err := experiment.Compute(&ended{t.Context(), 9}, parts); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted, it said %v", err)
		}
		if err := parts.Acquire(); err != nil {
			t.Fatal(err)
		}
		if err := experiment.Compute(t.Context(), parts); err != nil {
			t.Fatal(err)
		}
		if a, b := experimenttest.Read(t, whole, saddleFile), experimenttest.Read(t, parts, saddleFile); !bytes.Equal(a, b) {
			t.Errorf("%s: interrupted, it ended elsewhere", k.Name)
		}
	}
}

// ended is a context that ends when it has been asked so often.
type ended struct {
	context.Context
	left int
}

func (c *ended) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestSaddleSettingsAreChecked(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"alpha is 2":            {"alpha": "2"},
		"dual_rate is 0":        {"dual_rate": "0"},
		"dual_share is -1":      {"dual_share": "-1"},
		"loss_limit is 0":       {"loss_limit": "0"},
		"public_sizes is false": {"public_sizes": "false"},
		"share is 2":            {"share": "2"},
		"there are adult":       {"dataset": "none"},
	} {
		for _, k := range saddleKinds {
			_, err := experiment.Request{Experiment: k.Name, Settings: settings}.Spec()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: error %v, want it to say %q", k.Name, settings, err, want)
			}
		}
	}
}
