// Package flow moves particles towards a target along the gradient flow of the
// sliced Wasserstein distance (Liutkus et al. 2019), smoothed and private as in
// 003 ("Differentially Private Gradient Flow based on the Sliced Wasserstein
// Distance") or through a quantile sketch.
//
// There is one flow. What differs between the methods is what it knows of where
// to go: a Guide gives particles their velocities. Most guides are Slices of a
// Target, which answers each step with directions and a quantile function on each.
// The private ones get theirs from a privacy.Releaser, so that after the release
// nothing goes back to the records.
package flow

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"

	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/internal/tile"
	"molehill/transport/sliced"
)

// Guide says how particles shall move.
type Guide interface {
	// Drift returns the velocities of the particles x at a step of f, [n, Dim]. The
	// same step and particles always get the same answer.
	Drift(f Flow, x transport.Points, step int) ([]float32, error)
}

// Slices is the guide that follows the sliced Wasserstein distance to a target.
type Slices struct{ Target }

// Drift implements Guide.
func (s Slices) Drift(f Flow, x transport.Points, step int) ([]float32, error) {
	if s.Target == nil {
		return nil, errors.New("flow: slices of no target; give one, such as Open")
	}
	directions, quantiles, err := s.At(step)
	if err != nil {
		return nil, err
	}
	return f.Drift(x, directions, quantiles, step)
}

// Target is where particles shall go, as seen along directions.
type Target interface {
	// At returns the directions of a step and the target's quantile function on
	// each of them. The same step always gets the same answer.
	At(step int) (sliced.Directions, []transport.Quantile, error)
}

// Flow is the Euler–Maruyama scheme of 003 Eq. 18 with the drift of Eqs. 20–21, but for ξ:
//
//	X ← X + h·v̂(X) + √(2λh)·Z,   v̂(x) = −(1/N_θ) Σ_j ψ′_j(⟨x, θ_j⟩ + ξ_j)·θ_j,
//	ψ′_j(z) = z − F_ν⁻¹(F_μ(z)),
//
// where ξ_j ~ N(0, σ²), F_μ is the distribution of the particles' ⟨x, θ_j⟩ + ξ_j, and
// F_ν⁻¹ the target's quantile function, smoothed by its release.
// (Eqs. 17 and 18 of 000 and 003 print the update without the leading X, and so does
// Algorithm 2; it is a step of an SDE, and the public code has it.)
type Flow struct {
	StepSize  float64 // h > 0; N_θ in the denominator makes h = Dim the step of full size
	Diffusion float64 // λ ≥ 0, weight of the entropy
	Smoothing float64 // σ ≥ 0, standard deviation of the noise on the particles' own projections

	// CleanEvaluation takes ψ′ at ⟨x, θ_j⟩, as Eq. 20 is printed. At the noisy projection, where
	// the public code of 003 takes it too, its mean is the gradient of half the squared
	// smoothed distance; at the projection itself it is that only for σ = 0 or where ψ′ is
	// linear (docs/diffusion.md, the drift of Theorem 1).
	CleanEvaluation bool

	// Random moves the particles: initial positions, smoothing, and diffusion
	// unless Secret is there. It never touches a record and needs no secrecy.
	Random noise.Source
	// Secret draws the diffusion so that it counts as noise on what the particles
	// tell of the records (accountant.DiffusedRelease): nobody can subtract it, and
	// it leaves on a public grid. Nil for Random.
	Secret *noise.Source
	// Once is told of each step of a secret diffusion before it gets its noise, by a name
	// and a digest of where the particles would be without; an error of it ends the step.
	// It is to refuse a step that comes again from elsewhere. Nil asks nobody.
	Once func(name string, digest [32]byte) error
}

// Check returns an error unless the flow's numbers are in their domains.
func (f Flow) Check() error {
	for _, field := range []struct {
		name    string
		value   float64
		minimum float64
	}{{"step size h", f.StepSize, math.SmallestNonzeroFloat64}, {"diffusion λ", f.Diffusion, 0}, {"smoothing σ", f.Smoothing, 0}} {
		if !(field.value >= field.minimum) || math.IsInf(field.value, 0) {
			return fmt.Errorf("flow: %s is %v; it must be finite and at least %v", field.name, field.value, field.minimum)
		}
	}
	return nil
}

// Start returns n particles of dimension dim, drawn from N(0, I). It panics as
// transport.NewPoints does.
func (f Flow) Start(n, dim int) transport.Points {
	x := transport.NewPoints(n, dim)
	_ = f.Random.Normal(x.Data, 1, "start", 0) // fails only for another standard deviation
	return x
}

// Step moves the particles x, [n, Dim], in place. The result depends on x, the
// step's number and the sources of randomness alone, not on how many cores
// compute it.
func (f Flow) Step(x transport.Points, guide Guide, step int) error {
	if err := f.Check(); err != nil {
		return err
	}
	if guide == nil {
		return errors.New("flow: a step without a guide; give one, such as Slices of a Target")
	}
	h, std := float32(f.StepSize), f.diffusionStd()
	if std > 0 && f.Secret != nil {
		return f.secretStep(x, guide, step)
	}
	drift, err := f.guided(x, guide, step)
	if err != nil {
		return err
	}
	for i, v := range drift {
		x.Data[i] += h * v
	}
	if std > 0 {
		noise := make([]float32, len(drift))
		if err := f.Random.Normal(noise, std, "diffusion", step); err != nil {
			return err
		}
		for i, z := range noise {
			x.Data[i] += z
		}
	}
	return nil
}

// guided are a guide's velocities, of all particles.
func (f Flow) guided(x transport.Points, guide Guide, step int) ([]float32, error) {
	drift, err := guide.Drift(f, x, step)
	if err == nil && len(drift) != len(x.Data) {
		err = fmt.Errorf("flow: a guide that gives %d velocities' coordinates for %d particles of %d; each of them needs its own", len(drift), x.Len(), x.Dim)
	}
	return drift, err
}

// diffusionStd is √(2λh).
func (f Flow) diffusionStd() float64 { return math.Sqrt(2 * f.Diffusion * f.StepSize) }

// directionsAtOnce bounds the memory of a drift: two floats for each particle
// and each of so many directions.
const directionsAtOnce = 72

// Drift returns v̂ at every particle, [n, Dim] (003 Eq. 20).
func (f Flow) Drift(x transport.Points, u sliced.Directions, quantiles []transport.Quantile, step int) ([]float32, error) {
	if err := cmp.Or(f.Check(), checkSlices(x, u, quantiles)); err != nil {
		return nil, err
	}
	sum := tile.New(x.Len(), x.Dim)
	err := f.walk(x, u, step, func(l *line, j, _ int, along, noise []float32) {
		at, order, levels := f.levelsOn(l, along, noise)
		for rank, i := range order {
			along[i] = quantiles[j].At(levels[rank]) - at[i]
		}
	}, func(part sliced.Directions, along []float32) {
		back := tile.ForAdd(part.Data, part.Count, part.Dim)
		sum.Each(runtime.GOMAXPROCS(0), func(t int) { sum.Add(t, back, along) })
	})
	drift := make([]float32, len(x.Data))
	sum.Each(runtime.GOMAXPROCS(0), func(t int) { sum.Unpack(t, drift, 1/float32(u.Count)) })
	return drift, err
}

func checkSlices(x transport.Points, u sliced.Directions, quantiles []transport.Quantile) error {
	if len(quantiles) != u.Count || u.Dim != x.Dim {
		return fmt.Errorf("flow: %d quantile functions on %d directions of dimension %d for particles of dimension %d; counts and dimensions must agree",
			len(quantiles), u.Count, u.Dim, x.Dim)
	}
	if err := u.Check(x.Dim); err != nil {
		return fmt.Errorf("flow: %w", err)
	}
	for _, q := range quantiles {
		switch {
		case len(q.Values) == 0:
			return errors.New("flow: a target of no points has no quantiles; give it at least one")
		case len(q.Values) > 1 && !(q.Step > 0):
			return fmt.Errorf("flow: a quantile function with steps of %v between its knots; they go up from 0 to 1, take transport.SampleQuantile or BinQuantile", q.Step)
		}
	}
	return nil
}

// walk projects the particles on all directions, some at a time, and has pull look at
// every single one, on all cores: the j-th direction, which is the at-th of its block,
// where the particles are along it, and the noise that smooths F_μ, nil without. Then
// add gets the block's directions and its table, in which pull may have left something.
func (f Flow) walk(x transport.Points, u sliced.Directions, step int, pull func(l *line, j, at int, along, noise []float32), add func(part sliced.Directions, along []float32)) error {
	n, workers := x.Len(), runtime.GOMAXPROCS(0)
	block := min(directionsAtOnce, u.Count)
	particles := tile.New(n, x.Dim)
	origin := make([]float32, x.Dim)
	particles.Each(workers, func(t int) { particles.Pack(t, x.Data, origin) })
	along := make([]float32, tile.Rows(block)*particles.Stride()) // by direction and particle
	var noisy []float32
	if f.Smoothing > 0 {
		noisy = make([]float32, block*n)
	}
	for from := 0; from < u.Count; from += block {
		part := u.Slice(from, min(from+block, u.Count))
		if f.Smoothing > 0 {
			if err := f.Random.Normal(noisy[:n*part.Count], f.Smoothing, fmt.Sprintf("smoothing from %d", from), step); err != nil {
				return err
			}
		}
		there := tile.ForProject(part.Data, part.Count, part.Dim)
		particles.Each(workers, func(t int) { particles.Project(t, there, along) })
		transport.ParallelOn(workers, part.Count, newLine(n), func(l *line, j int) {
			var noise []float32
			if f.Smoothing > 0 {
				noise = noisy[j*n : (j+1)*n]
			}
			pull(l, from+j, j, along[j*particles.Stride():][:n], noise)
		})
		add(part, along)
	}
	return nil
}

// line is the scratch memory of one core for one direction.
type line struct {
	sorted        []float32
	levels, ranks []float64 // ranks are the levels that a sample has in itself
	own, all      transport.Sorter
}

func newLine(n int) func() *line {
	return func() *line {
		l := &line{sorted: make([]float32, n), levels: make([]float64, n), ranks: make([]float64, n)}
		scale := 1 / float64(max(1, n-1))
		for rank := range l.ranks {
			l.ranks[rank] = float64(rank) * scale
		}
		return l
	}
}

// levelsOn returns, in the order of where the particles are on one direction, their
// levels F_μ(z), and the z at which ψ′ is taken. The noise is what smooths F_μ; without
// smoothing there is none.
func (f Flow) levelsOn(l *line, along, noise []float32) (at []float32, order []int32, levels []float64) {
	for i := range noise {
		noise[i] += along[i]
	}
	at = along
	if f.Smoothing > 0 && !f.CleanEvaluation {
		at = noise
	}
	order = l.own.Argsort(at)
	if !f.sharesLevels() {
		return at, order, l.ranks // F_μ at its own sample is the rank
	}
	// F_μ is the noisy sample's, ψ′ is taken at the clean one.
	queries := l.sorted
	for rank, i := range order {
		queries[rank] = at[i]
	}
	l.all.Sort(noise)
	transport.CDFs(l.levels, noise, queries)
	return at, order, l.levels
}
