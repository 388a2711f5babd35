package transporttest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"molehill/transport"
	"molehill/transport/sinkhorn"
	"molehill/transport/sliced"
)

// testdata/golden.py writes the file and says how the libraries' conventions
// were converted.
//
//go:embed testdata/golden.json
var goldenFile []byte

// golden is a problem and what another library computed of it.
type golden struct {
	Library, Kind  string
	Seed           uint64
	N, M, Dim      int
	Weights        string // equal, shares (of sum 1) or masses (of any sum)
	Cost           json.RawMessage
	Epsilon, Reach float64
	P              float64
	Directions     int
	Value          float64
	Transport      *float64 // ⟨C, P⟩
	Plan           []float64
	ByX            []float64 `json:"by_x"`
	ByY            []float64 `json:"by_y"`
	Tolerance      float64   // the library's own error, relative; 0: below 1e-8
}

// goldens returns the cases of a kind, named.
func goldens(kinds ...string) (map[string]golden, error) {
	var file struct{ Cases []golden }
	if err := json.Unmarshal(goldenFile, &file); err != nil {
		return nil, err
	}
	named := map[string]golden{}
	for _, g := range file.Cases {
		if slices.Contains(kinds, g.Kind) {
			named[fmt.Sprintf("%s %s %d", g.Library, g.Kind, g.Seed)] = g
		}
	}
	if len(named) == 0 {
		return nil, fmt.Errorf("golden.json has no cases of %v", kinds)
	}
	return named, nil
}

// uniforms returns count multiples of 2⁻²⁴ in [0, 1): the generator of golden.py.
func uniforms(state uint64, count int) []float64 {
	values := make([]float64, count)
	for i := range values {
		state = state*6364136223846793005 + 1442695040888963407
		values[i] = float64(state>>40) / (1 << 24)
	}
	return values
}

// measures are the inputs of golden.py.
func (g golden) measures() (x, y transport.Measure) {
	side := func(seed uint64, n int, from float64, weights uint64) transport.Measure {
		m := transport.Uniform(transport.NewPoints(n, g.Dim))
		for i, u := range uniforms(seed, n*g.Dim) {
			m.Data[i] = float32(4*u - from)
		}
		if g.Weights == "equal" {
			return m
		}
		m.Weights = uniforms(weights, n)
		for i := range m.Weights {
			m.Weights[i] += 0.125
		}
		if g.Weights == "shares" {
			m.Weights = m.Shares()
		}
		return m
	}
	return side(g.Seed, g.N, 2, g.Seed+2), side(g.Seed+1, g.M, 1, g.Seed+3)
}

func (g golden) directions() sliced.Directions {
	u := sliced.Directions{Dim: g.Dim, Count: g.Directions, Data: make([]float32, g.Directions*g.Dim)}
	raw := uniforms(g.Seed+4, len(u.Data))
	for l := range u.Count {
		row := raw[l*g.Dim : (l+1)*g.Dim]
		var squares float64
		for c := range row {
			row[c] -= 0.5
			squares += row[c] * row[c]
		}
		for c := range row {
			u.Row(l)[c] = float32(row[c] / math.Sqrt(squares))
		}
	}
	return u
}

func (g golden) problem() (sinkhorn.Problem, error) {
	x, y := g.measures()
	p := sinkhorn.Problem{X: x, Y: y}
	var name string
	if json.Unmarshal(g.Cost, &name) == nil && name == "L2" {
		p.Cost = sinkhorn.L2
		return p, nil
	}
	var mixture sinkhorn.Mixture
	err := json.Unmarshal(g.Cost, &mixture)
	p.Cost = mixture
	return p, err
}

// lacking names a feature that the case needs and the executor lacks, or "".
func (g golden) lacking(lacks []Feature) Feature {
	for _, l := range lacks {
		switch {
		case l == Sizes && g.N != g.M,
			l == Weights && g.Weights != "equal",
			l == Powers && g.P != 0 && g.P != 2,
			l == Unbalanced && g.Reach > 0:
			return l
		}
	}
	return ""
}

// each runs a check on every so-many-th case of some kinds as subtests, 0 or 1: on all.
func each(t *testing.T, lacks []Feature, every int, check func(g golden) error, kinds ...string) {
	t.Helper()
	cases, err := goldens(kinds...)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if i%max(1, every) != 0 {
			continue
		}
		g := cases[name]
		t.Run(name, func(t *testing.T) {
			if l := g.lacking(lacks); l != "" {
				t.Skipf("the executor declares that it lacks %s", l)
			}
			if err := check(g); err != nil {
				t.Error(err)
			}
		})
	}
}

// SinkhornGolden compares with values, plans and gradients of POT, OTT-JAX and
// GeomLoss.
func SinkhornGolden(t *testing.T, e Sinkhorn) {
	t.Helper()
	each(t, e.Lacks, e.Every, e.golden, "sinkhorn", "divergence", "exact")
}

// SlicedGolden compares with values and gradients of POT.
func SlicedGolden(t *testing.T, e Sliced) {
	t.Helper()
	each(t, e.Lacks, 1, e.golden, "sliced")
}

// LineGolden compares with values and gradients of POT.
func LineGolden(t *testing.T, e Line) {
	t.Helper()
	each(t, e.Lacks, 1, e.golden, "line")
}

func (e Sinkhorn) golden(g golden) error {
	p, err := g.problem()
	if err != nil {
		return err
	}
	scale := scaleOf(p)
	if g.Kind == "exact" { // OT ≤ OT_ε ≤ OT + ε·min(H(a), H(b))
		s := e.solver(p, 0.001)
		s.Tolerance = max(s.Tolerance, crude)
		r, err := e.solve(p, s)
		if err != nil {
			return err
		}
		most := g.Value + s.Epsilon*min(entropy(p.X.Shares()), entropy(p.Y.Shares()))
		return between("the value", r.Value, g.Value, most, scale*(e.Tolerance.Value+s.Tolerance/2))
	}
	s := e.solverAt(p, g.Epsilon)
	s.Reach = g.Reach
	value := scale * (3*e.Tolerance.Value + g.Tolerance)
	slope := 3*e.Tolerance.Gradient + 30*g.Tolerance
	if g.Kind == "divergence" {
		// Self terms converge slowly without an update of their own.
		s.Tolerance = max(s.Tolerance, 1e-6)
		v, byX, byY, err := e.divergence(p, s)
		if err != nil {
			return err
		}
		return errors.Join(near("the divergence", v, g.Value, value), nearSlopes(g, byX, byY, slope))
	}
	r, err := e.solve(p, s)
	if err != nil {
		return err
	}
	err = near("the value", r.Value, g.Value, value)
	if g.Plan != nil && !e.lacks(Plans) {
		err = errors.Join(err, nearSum("the plan", r.Plan, g.Plan, 10*e.Tolerance.Plan))
	}
	if g.Transport != nil && !e.lacks(Plans) {
		var transport float64
		for k, c := range costsOf(p) {
			transport += c * r.Plan[k]
		}
		err = errors.Join(err, near("the transport cost", transport, *g.Transport, 10*scale*(e.Tolerance.Value+e.Tolerance.Plan)))
	}
	return errors.Join(err, nearSlopes(g, r.ByX, r.ByY, slope))
}

// nearSlopes compares gradients where both sides have them.
func nearSlopes(g golden, byX, byY []float64, tolerance float64) error {
	if g.ByX == nil || byX == nil {
		return nil
	}
	return errors.Join(
		nearNorm("the gradient by x", byX, g.ByX, tolerance, 0.1),
		nearNorm("the gradient by y", byY, g.ByY, tolerance, 0.1))
}

func (e Line) golden(g golden) error {
	x, y := g.measures()
	value, byX, byY, err := e.Power(x.Data, y.Data, x.Weights, y.Weights, g.P)
	return errors.Join(err,
		near("W_p^p", value, g.Value, e.Tolerance.Value*lineScale(g.P)),
		nearSlopes(g, byX, byY, e.Tolerance.Gradient))
}

func (e Sliced) golden(g golden) error {
	x, y := g.measures()
	value, byX, byY, err := e.Power(x, y, g.P, g.directions())
	return errors.Join(err, near("SW_p^p", value, g.Value, e.slack(g.P)), nearSlopes(g, byX, byY, e.slope()))
}
