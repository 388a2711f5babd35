package accountant

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// pldPoint is a point of testdata/pld_golden.json, which pld_golden.py wrote: a
// bracket of the true ε, and what other accountants say.
type pldPoint struct {
	Kind                    string
	Sigma, Rate, Delta      float64
	Size, Population, Steps int
	Lower, Upper            float64
	DPAccounting            *float64  `json:"dp_accounting"`  // an upper bound
	PRVAccountant           []float64 `json:"prv_accountant"` // a lower and an upper one
	RDPEpsilon              *float64  `json:"rdp_epsilon"`
	RDP                     []float64 // of one step, at the file's rdp_orders
	Failures                map[string]string
}

type pldGolden struct {
	Orders    []float64
	RDPOrders []float64 `json:"rdp_orders"`
	Points    []pldPoint
}

func readPLDGolden(t *testing.T) (g pldGolden) {
	t.Helper()
	text, err := os.ReadFile("testdata/pld_golden.json")
	if err = errors.Join(err, json.Unmarshal(text, &g)); err != nil {
		t.Fatal(err)
	}
	return g
}

// thorough is how much to do with MOLEHILL_THOROUGH set, which takes minutes,
// and without.
func thorough(much, little int) int {
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		return much
	}
	return little
}

func (p pldPoint) event() (Event, Relation) {
	var step Event = Gaussian{p.Sigma}
	relation := AddRemove
	switch p.Kind {
	case "laplace":
		step = Laplace{p.Sigma}
	case "poisson":
		step = PoissonSampled{p.Rate, step}
	case "poisson_replace": // one record's norm is 1, and a replacement moves it by 2
		step, relation = PoissonSampled{p.Rate, Gaussian{p.Sigma / 2}}, ReplaceOne
	case "fixed_size":
		step, relation = FixedSizeSampled{p.Size, p.Population, step}, ReplaceOne
	}
	return SelfComposed{step, p.Steps}, relation
}

func TestPLDGridHasABracketEverywhere(t *testing.T) {
	var all, byDP, byPRV int
	for _, p := range readPLDGolden(t).Points {
		if width := p.Upper - p.Lower; !(p.Lower >= 0 && width >= 0 && width <= max(5e-4, 1e-3*p.Upper)) || p.Failures["bracket"] != "" {
			t.Errorf("%+v: not a bracket that a per cent, or 10⁻³, can be judged by", p)
		}
		all++
		if p.DPAccounting != nil {
			byDP++
		}
		if len(p.PRVAccountant) == 2 {
			byPRV++
		}
	}
	if all < 500 || byDP < 400 || byPRV < 300 {
		t.Errorf("%d points, %d with an answer by dp_accounting, %d by prv_accountant", all, byDP, byPRV)
	}
}

func TestPLDIsWithinOnePerCentOfTheTrueEpsilon(t *testing.T) {
	var worst float64
	for _, p := range readPLDGolden(t).Points {
		e, relation := p.event()
		got := epsilon(t, PLD{}, e, relation, p.Delta)
		if !(got <= max(1.01*p.Upper, p.Upper+1e-3) && got >= p.Lower*(1-1e-9)) { // never below: it is a bound
			t.Errorf("%v, %v, δ=%g: ε = %.12g, the true one is in [%.12g, %.12g]", e, relation, p.Delta, got, p.Lower, p.Upper)
		}
		if p.Upper > 0.1 {
			worst = max(worst, got/p.Upper-1)
		}
	}
	t.Logf("at most %.3g %% above the true ε, where that exceeds 0.1", 100*worst)
}

func TestRDPEqualsDPAccountingOnThePLDGrid(t *testing.T) {
	g := readPLDGolden(t)
	for _, p := range g.Points {
		e, relation := p.event()
		if p.RDPEpsilon != nil {
			// Their divergences are logs of numbers near 1, see TestPoissonDivergences.
			got := epsilon(t, RDP{Orders: g.Orders}, e, relation, p.Delta)
			if want := *p.RDPEpsilon; !(math.Abs(got-want) <= 1e-6*want+1e-15*float64(p.Steps)) {
				t.Errorf("%v, δ=%g: ε = %.9g, dp_accounting says %.9g", e, p.Delta, got, want)
			}
		}
		for i, want := range p.RDP {
			order := g.RDPOrders[i]
			got, err := RDP{}.Divergence(e.(SelfComposed).Event, relation, order)
			if err != nil || !(math.Abs(got-want) <= 1e-6*want+1e-13/(order-1)) {
				t.Errorf("%v, α=%g: divergence %.9g, %v; dp_accounting says %.9g", e, order, got, err, want)
			}
		}
	}
}

// randomPoint draws from the domain of the grid, with its edges.
func randomPoint(r *rand.Rand) pldPoint {
	between := func(low, high float64) float64 {
		switch r.IntN(8) {
		case 0:
			return low
		case 1:
			return high
		}
		return math.Exp(math.Log(low) + r.Float64()*math.Log(high/low))
	}
	p := pldPoint{
		Kind:  []string{"poisson", "poisson", "poisson_replace", "fixed_size", "gaussian", "laplace"}[r.IntN(6)],
		Sigma: between(0.3, 100), Rate: between(1e-5, 1), Delta: between(1e-12, 1e-3),
		Steps: int(between(1, 1e6)), Population: 1 + int(between(1, 1e6)),
	}
	p.Size = 1 + int(p.Rate*float64(p.Population-1))
	return p
}

// The pessimism of two neighbouring points may differ, so that ε of the easier
// one is a little larger; and where RDP is nearly exact, pessimism shows. By no
// more than this.
const wobble = 5e-3

func TestPLDProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	at := func(p pldPoint) float64 {
		e, relation := p.event()
		got := epsilon(t, PLD{}, e, relation, p.Delta)
		if !(got >= 0 && got <= math.MaxFloat64) {
			t.Errorf("%v, %v, δ=%g: ε = %v", e, relation, p.Delta, got)
		}
		return got
	}
	for range thorough(200, 25) {
		p := randomPoint(r)
		e, relation := p.event()
		base := at(p)
		if p.Kind != "poisson_replace" { // which RDP has no theorem for
			if rdp := epsilon(t, RDP{}, e, relation, p.Delta); !(base <= rdp*(1+wobble)+1e-9) {
				t.Errorf("%v, %v, δ=%g: ε = %.9g, by RDP %.9g", e, relation, p.Delta, base, rdp)
			}
		}
		noisier, smaller, longer, looser := p, p, p, p
		noisier.Sigma *= 1 + r.Float64()
		smaller.Rate, smaller.Size = p.Rate*r.Float64(), r.IntN(p.Size+1)
		longer.Steps += 1 + r.IntN(p.Steps)
		looser.Delta *= 1 + 9*r.Float64()
		for change, other := range map[string]pldPoint{"more noise": noisier, "a smaller sample": smaller, "a larger δ": looser} {
			if got := at(other); !(got <= base*(1+wobble)+1e-4) {
				t.Errorf("%+v: %s takes ε from %.9g to %.9g", p, change, base, got)
			}
		}
		if got := at(longer); !(got >= base*(1-wobble)-1e-4) {
			t.Errorf("%+v: %d steps take ε from %.9g to %.9g", p, longer.Steps, base, got)
		}
	}
}

func TestPLDOfEqualPartsIsThatOfSelfComposition(t *testing.T) {
	for _, step := range []Event{Gaussian{2}, Laplace{2}, PoissonSampled{0.1, Gaussian{1}}, PoissonSampled{0.1, Laplace{1}}} {
		want := epsilon(t, PLD{}, SelfComposed{step, 12}, AddRemove, 1e-6)
		for _, e := range []Event{
			Composed{[]Event{step, SelfComposed{step, 4}, SelfComposed{step, 7}}},
			SelfComposed{SelfComposed{step, 3}, 4},
			SelfComposed{Composed{[]Event{step, PostProcessed{step, "nothing"}}}, 6},
		} {
			if got := epsilon(t, PLD{}, e, AddRemove, 1e-6); !(math.Abs(got/want-1) <= 1e-12) {
				t.Errorf("%v: ε = %.15g, self-composed %.15g", e, got, want)
			}
		}
	}
}

// TestPLDOfUnequalPartsIsWithinBounds composes a part with what hardly matters.
func TestPLDOfUnequalPartsIsWithinBounds(t *testing.T) {
	main := SelfComposed{PoissonSampled{0.01, Gaussian{1}}, 1000}
	alone := epsilon(t, PLD{}, main, AddRemove, 1e-6)
	for _, more := range []Event{Gaussian{1e4}, Laplace{1e5}, PoissonSampled{1e-9, Laplace{1}}} {
		got := epsilon(t, PLD{}, Composed{[]Event{main, more}}, AddRemove, 1e-6)
		if !(got >= alone*(1-1e-4) && got <= alone*1.01) {
			t.Errorf("with %v: ε = %.9g, without it %.9g", more, got, alone)
		}
	}
}

func TestPLDOfOneStepIsTheClosedForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 618))
	for range thorough(400, 40) {
		p := randomPoint(r)
		p.Steps = 1
		e, relation := p.event()
		if p.Kind == "poisson_replace" {
			continue
		}
		// Balle, Barthe & Gaboardi 2018, Theorems 3, 8 and 9.
		delta := func(epsilon float64) float64 {
			q := 1.
			switch p.Kind {
			case "laplace":
				return max(0, -math.Expm1((epsilon-1/p.Sigma)/2))
			case "poisson":
				q = p.Rate
			case "fixed_size":
				q = float64(p.Size) / float64(p.Population)
			}
			d, err := GaussianDelta(p.Sigma, math.Log1p(math.Expm1(epsilon)/q))
			if err != nil {
				t.Fatal(err)
			}
			return q * d
		}
		for _, accountant := range []Accountant{PLD{}, PLD{Interval: 1e-4}} {
			got := epsilon(t, accountant, e, relation, p.Delta)
			if above := delta(got); !(above <= p.Delta*(1+1e-8)) {
				t.Errorf("%+v of %+v: ε = %.9g has δ = %.9g", accountant, p, got, above)
			}
			if less := got/1.01 - 1e-3; less > 0 && !(delta(less) >= p.Delta) {
				t.Errorf("%+v of %+v: ε = %.9g is more than 1 %% above the least one", accountant, p, got)
			}
		}
	}
}

func TestPLDIsFiniteForWhateverIsValid(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 718))
	pick := func(from ...float64) float64 { return from[r.IntN(len(from))] }
	for range thorough(60, 8) {
		sigma, rate := pick(1e-3, 0.05, 1e3, 1e6, 1e100), pick(1e-300, 1e-12, 0.5, 1-1e-16, 1)
		steps, delta := int(pick(1, 2, 1e9)), pick(1e-100, 1e-15, 0.5, 1-1e-16)
		for _, step := range []Event{PoissonSampled{rate, Gaussian{sigma}}, Laplace{sigma}} {
			e := SelfComposed{step, steps}
			if got := epsilon(t, PLD{}, e, AddRemove, delta); !(got >= 0 && got <= math.MaxFloat64) {
				t.Errorf("%v, δ=%g: ε = %v", e, delta, got)
			}
		}
	}
}

// Mixtures that a transform cannot see well: of losses of 10⁸ and of 10⁻⁸; with a narrow
// part that a wide bounded one hides; of which the aim is poor. least is below the true ε
// (of the first, the Gaussian's alone; of the others, by integrals of the characteristic
// function in high precision).
func TestPLDStaysAboveWhereItCannotSee(t *testing.T) {
	many := func(count int, e Event) Event { return SelfComposed{Event: e, Count: count} }
	for _, c := range []struct {
		event        Event
		delta, least float64
		most         float64
	}{
		{Composed{[]Event{Gaussian{4.8978e-5}, many(300, PoissonSampled{0.9999, Pure{1.2e-8}})}}, 1e-3, 2.084e8, 2.2e8},
		{Composed{[]Event{many(2, Pure{0.155512}), Gaussian{1126}}}, 3.77e-244, 0.34032, 0.45},
		{Composed{[]Event{many(27, Laplace{0.05565}), many(139, Gaussian{745.64})}}, 1e-100, 485.4940, 491},
		{Composed{[]Event{Laplace{0.457130}, Gaussian{6473}}}, 1e-20, 2.18, 2.2},
	} {
		for _, a := range []Accountant{PLD{}, Tightest{}} {
			got := epsilon(t, a, c.event, AddRemove, c.delta)
			t.Logf("%T of %v at δ = %g: ε = %v", a, c.event, c.delta, got)
			if !(got >= c.least && got <= c.most) {
				t.Errorf("want %v to %v", c.least, c.most)
			}
		}
	}
	d, err := PLD{}.Delta(Composed{[]Event{Gaussian{4.8978e-5}, many(300, PoissonSampled{0.9999, Pure{1.2e-8}})}}, AddRemove, 1e8)
	if err != nil || !(d >= 0.5) {
		t.Errorf("δ = %v at half of ε (%v)", d, err)
	}
}

func TestPLDRefusesWhatIsNotValid(t *testing.T) {
	good := PoissonSampled{0.1, Gaussian{1}}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		e     Event
		rel   Relation
		delta float64
	}{
		"no noise":                 {PoissonSampled{0.1, Gaussian{0}}, AddRemove, 1e-5},
		"noise NaN":                {PoissonSampled{0.1, Gaussian{nan}}, AddRemove, 1e-5},
		"noise ∞":                  {PoissonSampled{0.1, Gaussian{inf}}, AddRemove, 1e-5},
		"Laplace noise NaN":        {Laplace{nan}, AddRemove, 1e-5},
		"rate above 1":             {PoissonSampled{1.0001, Gaussian{1}}, AddRemove, 1e-5},
		"rate NaN":                 {PoissonSampled{nan, Gaussian{1}}, AddRemove, 1e-5},
		"more than the population": {FixedSizeSampled{11, 10, Gaussian{1}}, ReplaceOne, 1e-5},
		"no population":            {FixedSizeSampled{0, 0, Gaussian{1}}, ReplaceOne, 1e-5},
		"no steps":                 {SelfComposed{good, 0}, AddRemove, 1e-5},
		"nothing composed":         {Composed{}, AddRemove, 1e-5},
		"no event":                 {nil, AddRemove, 1e-5},
		"nothing sampled":          {PoissonSampled{Rate: 0.1}, AddRemove, 1e-5},
		"δ = 0":                    {good, AddRemove, 0},
		"δ = 1":                    {good, AddRemove, 1},
		"negative δ":               {good, AddRemove, -1e-5},
		"δ NaN":                    {good, AddRemove, nan},
		"no relation":              {good, 0, 1e-5},
		"sampler of another one":   {FixedSizeSampled{1, 10, Gaussian{1}}, AddRemove, 1e-5},
		"sample of a sample":       {PoissonSampled{0.1, good}, AddRemove, 1e-5},
		"non-private on a sample":  {PoissonSampled{0.1, NonPrivate{}}, AddRemove, 1e-5},
	} {
		if r, err := (PLD{}).Epsilon(c.e, c.rel, c.delta); err == nil {
			t.Errorf("%s: no error, but %+v", name, r)
		}
	}
	for _, interval := range []float64{nan, inf, -1e-4} {
		if r, err := (PLD{Interval: interval}).Epsilon(SelfComposed{good, 9}, AddRemove, 1e-5); err == nil {
			t.Errorf("interval %v: no error, but %+v", interval, r)
		}
	}
}
