package transporttest

import (
	"math"
	"testing"

	"molehill/transport/assign"
	"molehill/transport/sinkhorn"
)

func TestGoldenHostSinkhorn(t *testing.T) { SinkhornGolden(t, host(false)) }
func TestGoldenHostSliced(t *testing.T)   { SlicedGolden(t, hostSliced()) }
func TestGoldenHostLine(t *testing.T)     { LineGolden(t, hostLine()) }
func TestGoldenOracles(t *testing.T) {
	SinkhornGolden(t, oracle{}.executor())
	SlicedGolden(t, slicedOracle{}.executor())
	LineGolden(t, lineOracle{}.executor())
}

func TestGoldenAssignment(t *testing.T) {
	each(t, []Feature{Sizes, Weights}, 1, func(g golden) error {
		p, err := g.problem()
		if err != nil {
			return err
		}
		a, err := assign.Match(p.X.Points, p.Y.Points, p.Cost.At)
		if err != nil {
			return err
		}
		return near("the least cost", a.Total/float64(g.N), g.Value, 1e-12*a.Total)
	}, "exact")
}

// A hundred cases are asked for, of three libraries, and an executor that is
// off in the sixth digit fails.
func TestGoldenValuesHavePower(t *testing.T) {
	cases, err := goldens("sinkhorn", "divergence", "exact", "line", "sliced")
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	libraries := map[string]int{}
	wrong := oracle{drift: 1e-5}.executor()
	for name, g := range cases {
		libraries[g.Library]++
		if g.Kind != "sinkhorn" || g.Tolerance > 0 || math.Abs(g.Value) < 0.1 {
			continue
		}
		if err := wrong.golden(g); err == nil {
			t.Errorf("%s does not see an error of 1e-5", name)
		}
	}
	if len(libraries) != 3 {
		t.Errorf("cases by library: %v", libraries)
	}
	// The entropy against 1, as some libraries have it, is another number.
	for name, g := range cases {
		if g.Kind == "sinkhorn" && g.Tolerance > 0 {
			if err := (oracle{entropyToOne: true}.executor()).golden(g); err == nil {
				t.Errorf("%s does not see another convention of the entropy", name)
			}
		}
	}
	// Half the cost is not the cost.
	half := changed(func(p *sinkhorn.Problem, s *sinkhorn.Solver) {
		if m, ok := p.Cost.(sinkhorn.Mixture); ok && m.Squared == 0.5 {
			p.Cost = sinkhorn.SquaredL2
		}
	})
	found := false
	for _, g := range cases {
		if g.Kind == "divergence" && g.Tolerance > 0 {
			found = found || half.golden(g) != nil
		}
	}
	if !found {
		t.Error("no case sees twice the cost")
	}
}
