package sliced

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molehill/transport"
)

func outputs(rng *rand.Rand, n, dim, parameters int) Outputs {
	o := Outputs{Dim: dim, Parameters: parameters, Values: make([]float64, n*dim), Jacobians: make([]float64, n*dim*parameters)}
	for i := range o.Values {
		o.Values[i] = rng.NormFloat64()
	}
	for i := range o.Jacobians {
		o.Jacobians[i] = rng.NormFloat64()
	}
	return o
}

// squaredDistance returns SW²₂ in float64, of outputs moved along their
// Jacobians by θ.
func squaredDistance(x, z Outputs, u Directions, theta []float64) (sum float64) {
	for l := range u.Count {
		line := func(o Outputs) []float64 {
			at := make([]float64, o.Len())
			for i, v := range o.Values {
				for p, t := range theta {
					v += t * o.Jacobians[i*o.Parameters+p]
				}
				at[i/o.Dim] += v * float64(u.Row(l)[i%o.Dim])
			}
			slices.Sort(at)
			return at
		}
		a, b := line(x), line(z)
		plan := transport.Couple(nil, transport.Levels(nil, len(a)), transport.Levels(nil, len(b)))
		sum += transport.Power(plan, a, b, 2, nil, nil) / float64(u.Count)
	}
	return sum
}

// The explicit gradient is the derivative of the squared distance that SW2
// returns: outputs that are linear in θ, sizes that do and do not divide each
// other, against difference quotients.
func TestGradientIsTheDerivativeOfTheDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, c := range []struct{ n, m, dim, count int }{{7, 7, 2, 5}, {6, 4, 3, 4}, {5, 11, 1, 1}, {1, 3, 2, 3}} {
		const parameters = 3
		x, z := outputs(rng, c.n, c.dim, parameters), outputs(rng, c.m, c.dim, parameters)
		u := Uniform(c.dim, c.count, rng)
		got, err := gradient(x, z, u)
		if err != nil {
			t.Fatal(err)
		}
		theta := make([]float64, parameters)
		points := func(o Outputs) transport.Points {
			p := transport.NewPoints(o.Len(), o.Dim)
			for i, v := range o.Values {
				p.Data[i] = float32(v)
			}
			return p
		}
		d, err := SW2(points(x), points(z), u)
		if value := squaredDistance(x, z, u, theta); err != nil || !(math.Abs(value-d.Value*d.Value) <= 1e-5*value) {
			t.Errorf("%+v: SW²₂ is %v, SW2 says %v, %v", c, value, d.Value*d.Value, err)
		}
		for p := range got {
			const step = 1e-6 // far less than the gaps between these outputs
			theta[p] = step
			up := squaredDistance(x, z, u, theta)
			theta[p] = -step
			down := squaredDistance(x, z, u, theta)
			theta[p] = 0
			if want := (up - down) / (2 * step); !(math.Abs(got[p]-want) <= 1e-7) {
				t.Errorf("%+v: derivative %d is %v, want %v", c, p, got[p], want)
			}
		}
	}
}

// A permutation of the records leaves the gradient as it is, also where clipped
// outputs and whole records coincide. The broken twin, which leaves the order of
// ties to the records' positions, moves by more than the sensitivity, and by
// more the more records there are.
func TestGradientDoesNotDependOnTheOrderOfRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 4))
	for range 300 {
		n, m, dim := 1+rng.IntN(8), 1+rng.IntN(8), 1+rng.IntN(2)
		x, z := outputs(rng, n, dim, 2), outputs(rng, m, dim, 2)
		for _, o := range []Outputs{x, z} {
			for i := range o.Values {
				o.Values[i] = math.Round(o.Values[i]) // ties
			}
		}
		u := Orthonormal(dim, 1, rng)
		before, _ := gradient(x, z, u)
		for _, o := range []Outputs{x, z} {
			rng.Shuffle(o.Len(), func(i, j int) {
				for c := range dim {
					swap(o.Values, i*dim+c, j*dim+c)
				}
				for c := range 2 * dim {
					swap(o.Jacobians, i*2*dim+c, j*2*dim+c)
				}
			})
		}
		after, _ := gradient(x, z, u)
		for p := range before {
			if !(math.Abs(before[p]-after[p]) <= 1e-12) {
				t.Fatalf("a permutation moves the gradient from %v to %v", before, after)
			}
		}
	}
	for _, n := range []int{10, 100} {
		// Source outputs are all 0; half of them have slope 1, half −1. Targets
		// are −1 and 1. Whichever half comes first is pulled to −1.
		x, z := outputs(rng, n, 1, 1), outputs(rng, n, 1, 1)
		z.Jacobians = nil
		for i := range n {
			x.Values[i], z.Values[i], x.Jacobians[i] = 0, math.Copysign(1, float64(2*i-n)+0.5), math.Copysign(1, float64(2*i-n)+0.5)
		}
		byPosition := func() (gradient float64) {
			for i := range n {
				gradient += 2 / float64(n) * (x.Values[i] - z.Values[i]) * x.Jacobians[i]
			}
			return gradient
		}
		before := byPosition()
		for i := range n / 2 {
			swap(x.Jacobians, i, n-1-i)
		}
		bound, _ := Limits{Output: 1, Source: 1, AsPublished: true}.Sensitivity(n)
		ratio := math.Abs(before-byPosition()) / bound.Value
		t.Logf("ties by position, n = %d: a permutation moves the gradient by %.2f times 12ML/n", n, ratio)
		if !(math.Abs(ratio-float64(n)/3) <= 1e-9) {
			t.Errorf("ratio %v, want n/3", ratio)
		}
		shared, err := gradient(x, z, Orthonormal(1, 1, rng))
		if err != nil || !(math.Abs(shared[0]) <= 1e-12) {
			t.Errorf("ties shared: gradient %v, %v; want 0", shared, err)
		}
	}
}

func swap(v []float64, i, j int) { v[i], v[j] = v[j], v[i] }

func TestOutputsAreClippedWhateverTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 500 {
		o := outputs(rng, 3, 2, 4)
		o.Values[1] = []float64{math.NaN(), math.Inf(1), 1e300, 3}[rng.IntN(4)]
		o.Jacobians[8] = []float64{math.NaN(), math.Inf(-1), 1e300, 3}[rng.IntN(4)]
		c, err := []func(radius, steepness float64) (Outputs, error){o.Clip, o.ClipExact}[trial%2](0.5, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if norm := math.Hypot(c.Values[2*i], c.Values[2*i+1]); !(norm <= 0.5) {
				t.Fatalf("output of norm %v", norm)
			}
			// The spectral norm of two rows a and b by its characteristic polynomial.
			a, b := c.Jacobians[8*i:8*i+4], c.Jacobians[8*i+4:8*i+8]
			aa, ab, bb := dot(a, a), dot(a, b), dot(b, b)
			if norm := math.Sqrt((aa + bb + math.Sqrt((aa-bb)*(aa-bb)+4*ab*ab)) / 2); !(norm <= 2) {
				t.Fatalf("Jacobian of spectral norm %v", norm)
			}
		}
	}
}

func TestGradientRefusesBadInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	u, x := Orthonormal(2, 1, rng), outputs(rng, 3, 2, 2)
	nan := outputs(rng, 3, 2, 2)
	nan.Values[2] = math.NaN()
	_, value := gradient(x, nan, u)
	_, dim := gradient(x, outputs(rng, 3, 1, 2), u)
	_, parameters := gradient(x, outputs(rng, 3, 2, 1), u)
	_, empty := gradient(x, Outputs{Dim: 2}, u)
	_, radius := x.Clip(0, 1)
	limits := Limits{Output: 1, Source: 1, Target: 1}
	for _, sides := range [][2]Outputs{{{Dim: 2}, x}, {x, {Dim: 2}}} {
		if _, err := limits.Gradient(sides[0], sides[1], u); err == nil {
			t.Errorf("a side of no records: %+v", sides)
		}
	}
	objective := func(change func(*Objective)) error {
		o := Objective{Records: 6, Pairs: []Sizes{{A: 3, B: 3}}, Alpha: 0.5, Clip: 1, Limits: limits}
		change(&o)
		_, err := o.Sensitivity()
		return err
	}
	_, frame := Limits{Output: 1, Source: 1, Frame: 2}.Sensitivity(3)
	_, limit := Limits{Output: math.NaN(), Source: 1}.Sensitivity(3)
	for want, err := range map[string]error{
		"output 1 has NaN": value, "dimension 1": dim, "by 1 parameters": parameters, "at least one record": empty, "norm 0": radius,
		"λ = σ_max²/k = 2": frame, "M = NaN": limit,
		"no pairs":           objective(func(o *Objective) { o.Pairs = nil }),
		"side of 0 records":  objective(func(o *Objective) { o.Pairs[0].B = 0 }),
		"α is 1.5":           objective(func(o *Objective) { o.Alpha = 1.5 }),
		"α is NaN":           objective(func(o *Objective) { o.Alpha = math.NaN() }),
		"a batch has 0":      objective(func(o *Objective) { o.Records = 0 }),
		"clipping of losses": objective(func(o *Objective) { o.Clip = 0 }),
		"L₁ = -1":            objective(func(o *Objective) { o.Limits.Source = -1 }),
		"M = 0":              objective(func(o *Objective) { o.Limits.Output = 0 }),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}
