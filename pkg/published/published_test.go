package published

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/privacy/accountant"
)

func claim(t *testing.T, method, data string, epsilon float64) Claim {
	t.Helper()
	claims, err := Claims()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.Method == method && strings.HasPrefix(c.Data, data) && c.Epsilon == epsilon {
			return c
		}
	}
	t.Fatalf("no claim of %s on %s at ε = %g", method, data, epsilon)
	return Claim{}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.5g, want %.5g ± %g", what, got, want, tolerance)
	}
}

func epsilon(t *testing.T, r Reading, delta float64) float64 {
	t.Helper()
	result, err := r.Epsilon(delta)
	if err != nil {
		t.Fatal(err)
	}
	return result.Epsilon
}

// Numbers that were found by other means: Abadi's moments and its tighter
// conversion for DPSWflow-r, dp_accounting's RDP for DP-Sinkhorn, and the noise
// of one release spent on 1,500.
func TestKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		method, data     string
		claimed, moments float64
	}{
		{"DPSWflow-r", "MNIST", 10, 9.89}, {"DPSWflow-r", "MNIST", 5, 3.79},
		{"DPSWflow-r", "CelebA", 10, 9.99}, {"DPSWgen", "MNIST", 10, 9.89},
	} {
		claim := claim(t, c.method, c.data, c.claimed)
		near(t, claim.Name()+" by moments", epsilon(t, claim.Readings[0], claim.Delta), c.moments, 0.005)
		if c.moments == 9.89 {
			rdp := claim.Readings[0]
			rdp.By = accountant.RDP{}
			near(t, claim.Name()+" by RDP", epsilon(t, rdp, claim.Delta), 8.93, 0.005)
		}
	}
	sinkhorn := claim(t, "DP-Sinkhorn", "MNIST", 10)
	near(t, "DP-Sinkhorn by RDP", epsilon(t, sinkhorn.Readings[0], sinkhorn.Delta), 3.49, 0.01)
	text, _ := sinkhorn.Reading(Text)
	near(t, "the noise multiplier of DP-Sinkhorn's text", text.Event.(accountant.PoissonSampled).Event.(accountant.Gaussian).NoiseMultiplier, 0.106, 0.0005)

	fixed := claim(t, "DPSWflow", "MNIST", 5)
	last := fixed.Readings[len(fixed.Readings)-1]
	near(t, "DPSWflow's 1,500 releases", epsilon(t, last, fixed.Delta), 940, 1)
}

// 35 epochs of ⌈30,000/250⌉ batches are 4,200 steps, 30 of ⌈81,385/250⌉ are 9,780;
// each ε of the table has its noise on each data set, and no other.
func TestFlowsByDataSet(t *testing.T) {
	for name, want := range map[string][]string{
		"mnist":         {"4200 steps of σ = 0 for +Inf", "4200 steps of σ = 0.68 for 10", "2400 steps of σ = 0.9 for 5"},
		"fashion-mnist": {"4200 steps of σ = 0 for +Inf", "4200 steps of σ = 0.68 for 10", "2400 steps of σ = 0.9 for 5"},
		"celeba":        {"9780 steps of σ = 0 for +Inf", "9780 steps of σ = 0.59 for 10", "9780 steps of σ = 0.8 for 5"},
	} {
		f, ok := FlowOn(name)
		var got []string
		for _, n := range f.Noise {
			got = append(got, fmt.Sprintf("%d steps of σ = %g for %g", f.Steps(n.Epochs), n.Multiplier, n.Epsilon))
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		f.Noise[0].Multiplier = 7 // the caller's own
		if again, _ := FlowOn(name); again.Noise[0].Multiplier != 0 {
			t.Errorf("%s: a caller changed the paper", name)
		}
	}
	if f, ok := FlowOn("glyphs"); ok {
		t.Errorf("003 on glyphs: %+v", f)
	}
}

func TestEveryClaimIsRecomputedOrSaysWhyNot(t *testing.T) {
	claims, err := Claims()
	if err != nil {
		t.Fatal(err)
	}
	papers := map[string]int{}
	for _, c := range claims {
		papers[c.Paper]++
		if c.Where == "" || c.Printed == "" || c.Why == "" {
			t.Errorf("%s: where %q, printed %q, why %q", c.Name(), c.Where, c.Printed, c.Why)
		}
		if len(c.Readings) == 0 && len(c.Missing) == 0 {
			t.Errorf("%s: neither readings nor what is missing", c.Name())
		}
		for _, r := range c.Readings {
			result, err := r.Epsilon(c.Delta)
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.Name(), err)
			case !(result.Epsilon > 0) || math.IsInf(result.Epsilon, 0):
				t.Errorf("%s: %s: ε = %v", c.Name(), r.What, result.Epsilon)
			case r.Role != Theirs && (result.Approximate != (r.Role == Known)):
				t.Errorf("%s: %s is said to be sound: %s", c.Name(), r.What, result.Note)
			case c.Paper == "004" && r.Role == Theirs:
				near(t, c.Name(), result.Epsilon, c.Epsilon, 1e-4*c.Epsilon)
			}
		}
	}
	for _, paper := range []string{"001", "003", "004"} {
		if papers[paper] < 7 {
			t.Errorf("%d claims of %s", papers[paper], paper)
		}
	}
}

// exceeds is the probability with which ‖vU‖² passes a value.
func exceeds(chances []Chance, squared float64) (p float64) {
	for _, c := range chances {
		if 1/(c.Noise*c.Noise) > squared {
			p += c.Probability
		}
	}
	return p
}

// A single direction of the plane falls by the arcsine law; two of R³ have
// coordinates that are uniform, and squares that fill a quarter of a circle.
func TestProjectedHasTheLawOfSums(t *testing.T) {
	for _, squared := range []float64{0.5, 0.9, 0.99} {
		want := 1 - 2/math.Pi*math.Asin(math.Sqrt(squared))
		got := exceeds(projected(1, 2, 1), squared)
		if !(got > want-1e-9 && got < want+0.03) { // groups are rounded up, of 2 % each
			t.Errorf("P(⟨v, θ⟩² > %g) = %g, want %g or a little more", squared, got, want)
		}
		want = 1 - math.Pi/4*squared
		if got := exceeds(projected(2, 3, 1), squared); !(got > want-1e-9 && got < want+0.03) {
			t.Errorf("two squares pass %g with probability %g, want %g or a little more", squared, got, want)
		}
	}
	for _, c := range []struct{ count, dim int }{{70, 8}, {31, 8}, {300, 48}} {
		chances := projected(c.count, c.dim, 1)
		var total, mean float64
		for _, chance := range chances {
			total += chance.Probability
			mean += chance.Probability / (chance.Noise * chance.Noise)
		}
		near(t, "the total probability", total, 1, 1e-9)
		want := float64(c.count) / float64(c.dim)
		if !(mean >= want && mean < 1.02*want) {
			t.Errorf("the mean of ‖vU‖² over %d directions of R^%d is %g, want %g or a little more", c.count, c.dim, mean, want)
		}
	}
}

// Far out, where transforms are only rounding, the law is that of its
// leading term: two directions of R³ pass 2−s for a small s if both |⟨v, θ⟩| are
// within about s/2 of 1, in all a triangle of area s²/8 at a corner of [0, 1]².
func TestProjectedKnowsItsTail(t *testing.T) {
	chances := projected(2, 3, 1)
	for _, s := range []float64{0.05, 0.02} {
		got, want := exceeds(chances, 2-s), s*s/8
		if !(got > want && got < 2.5*want) { // rounded up: both squares by 1/4096, groups by a quarter
			t.Errorf("two squares pass 2 − %g with probability %.3g, want %.3g or somewhat more", s, got, want)
		}
	}
	// 70 directions of R⁸: twice the mean of 8.75 is passed with a probability that
	// Chernoff's bound gives to within a factor of a few tens.
	for _, probability := range []float64{1e-6, 1e-9, 1e-12, 1e-14} {
		_, sum := rare(squares(8), 70, probability)
		if got := exceeds(projected(70, 8, 1), sum); !(got < probability && got > probability/50) {
			t.Errorf("%.4g is passed with probability %.3g, want at most %.0e and not far below", sum, got, probability)
		}
	}
}

func TestChancesAreMeansOfProfiles(t *testing.T) {
	step := accountant.FixedSizeSampled{Size: 10, Population: 500, Event: accountant.Gaussian{NoiseMultiplier: 0.9}}
	plain := Reading{Event: step, Count: 300, Relation: accountant.ReplaceOne}
	certain := plain
	certain.Chances = []Chance{{0.25, 1}, {0.75, 1}}
	near(t, "ε with one chance", epsilon(t, certain, 1e-5), epsilon(t, plain, 1e-5), 1e-6)

	once := Reading{Event: accountant.Gaussian{NoiseMultiplier: 1}, Count: 1, Relation: accountant.ReplaceOne, Chances: []Chance{{0.1, 0.5}, {0.9, 2}}}
	at := epsilon(t, once, 1e-5)
	loud, err := accountant.GaussianDelta(2, at)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := accountant.GaussianDelta(0.5, at)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "δ at that ε", 0.1*quiet+0.9*loud, 1e-5, 1e-12)

	once.Event = accountant.Laplace{NoiseMultiplier: 1}
	if _, err := once.Epsilon(1e-5); err == nil || !strings.Contains(err.Error(), "want Gaussians") {
		t.Errorf("Laplace noise of random sensitivity: %v", err)
	}
}

// What is proved for directions that nobody knows beforehand is never worse than
// for known ones.
func TestUnknownDirectionsHelp(t *testing.T) {
	for _, c := range []Claim{claim(t, "DPSWflow-r", "MNIST", 10), claim(t, "DPSWflow", "CelebA", 5)} {
		unknown, ok := c.Reading(Text)
		known, too := c.Reading(Known)
		if !ok || !too {
			t.Fatalf("%s lacks a reading", c.Name())
		}
		if a, b := epsilon(t, unknown, c.Delta), epsilon(t, known, c.Delta); !(a < b) {
			t.Errorf("%s: ε = %v for directions that are unknown beforehand, %v for known ones; want less", c.Name(), a, b)
		}
	}
}
