package privacy

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// Releaser draws a plan's records and adds its noise to queries. It is the only
// door through which a value computed from records leaves. It is safe for
// concurrent use.
type Releaser struct {
	plan   Plan
	secret noise.Source
	label  string // of the noise: another plan under the same key gets other noise
	keep   func(step int, released []float64) error
	check  func(name string, digest [32]byte) error
	stored [][]float64 // what a replay answers with, by step; nil for no replay

	made    *releases
	mu      sync.Mutex
	samples bool         // that no other plan samples under this key is remembered
	ahead   *noise.Ahead // of aheadOf, or nil
	aheadOf int          // a step
}

// releases are what a plan has released under a key: by step, what was asked for before
// noise.
type releases struct {
	mu sync.Mutex
	of map[int][sha256.Size]byte
}

// secretly are the releases of this process under secret keys, by key and plan: another
// releaser of the same has the same noise, and other values under it would give away their
// difference. A hash of each step stays for the life of the process.
var secretly sync.Map // of [sha256.Size]byte, *releases

// Releaser returns the plan's releaser, drawing samples and noise from secret. A key is for
// one plan on one set of records: releasers of the same plan and key have the same noise,
// so that what is different (another class, another half) takes a plan and a key of its own, or
// a step of one plan. In one process other values under a secret key are refused, and, where they are
// remembered (Remember), in any. The plan's budget is what it was calibrated for: a
// plan with noise set by hand releases whatever its statement proves. Samples are
// of secret and the step alone: two plans that sample draw the same rows from one secret,
// for which nobody has accounted. Each is to have its own; Remember finds those that do not.
func (p Plan) Releaser(secret noise.Source) *Releaser {
	p.Each = slices.Clone(p.Each) // whatever its owner does with it
	label := fmt.Sprintf("release %x", p.Digest())
	if grid := noise.Grid(p.NoiseStd, p.span()); grid != noise.Grid(p.NoiseStd, 0) {
		label += fmt.Sprintf(" on %b", grid) // other values than on the grid of the noise alone
	}
	made := &releases{of: map[int][sha256.Size]byte{}}
	if !secret.Research() { // of which nobody learns more by releasing twice
		key := secret.Key()
		known, _ := secretly.LoadOrStore(sha256.Sum256(append(key[:], label...)), made)
		made = known.(*releases)
	}
	return &Releaser{plan: p, secret: secret, label: label, made: made}
}

// Digest tells plans apart, by all that their releases depend on.
func (p Plan) Digest() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%v %v %v %v %v %v %v", p.Sensitivity, p.Each, sampling.Identify(p.sampler()), p.Records, p.Steps, p.NoiseStd, p.Coordinates))
}

// Keep has each release handed to keep as it leaves, to be stored: what was
// released may be used again at will (Plan.Replay). An error of keep is one of
// Release. Call it before the first release.
func (r *Releaser) Keep(keep func(step int, released []float64) error) { r.keep = keep }

// Remember has each release announced to once before anybody gets to see it, by a name that
// no other release of the key has and a digest of its values: once is to keep them
// beyond this process, and to refuse a name that comes again with another digest. So is
// that this plan draws samples, which no other plan may under the same key. Call
// it before the first release; once may be called by another goroutine.
func (r *Releaser) Remember(once func(name string, digest [32]byte) error) { r.check = once }

// Replay returns a releaser that answers with what one of the same plan released
// before, by step, and looks at nothing: what is made of its answers is
// post-processing and costs nothing. It refuses a plan that draws samples, as
// who takes part in one has to stay as secret as the noise.
func (p Plan) Replay(released ...[]float64) (*Releaser, error) {
	if _, all := p.sampler().(sampling.All); !all {
		return nil, fmt.Errorf("privacy: a replay of releases on samples (%v); only releases of all records can be replayed", p.sampler())
	}
	if len(released) != p.Steps {
		return nil, fmt.Errorf("privacy: a replay of %d releases of a plan for %d; give each", len(released), p.Steps)
	}
	return &Releaser{plan: p, stored: released}, nil
}

// NoiseStd is the standard deviation of the noise, 0 for a plan without: what
// those who use a release may know of it.
func (r *Releaser) NoiseStd() float64 { return r.plan.NoiseStd }

// Records is how many records the plan is for, which Draw numbers.
func (r *Releaser) Records() int { return r.plan.Records }

// Relation is which data sets the plan takes for neighbours.
func (r *Releaser) Relation() Relation { return r.plan.Sensitivity.Relation }

// Draw returns the rows that release step may look at, numbered from 0: those
// that the plan's sampler draws, in the sampler's order. A release must keep
// that order: which row stands where must not tell which rows were drawn. The
// same step always gets the same rows.
func (r *Releaser) Draw(step int) ([]int, error) {
	if err := r.samplesAlone(); err != nil {
		return nil, err
	}
	return r.plan.sampler().Draw(r.plan.Records, r.secret.Stream("sample", step))
}

// samplesAlone remembers that samples under this key are this plan's. Accountants take the
// samples of plans for independent, and another plan's would be the same rows.
func (r *Releaser) samplesAlone() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, all := r.plan.sampler().(sampling.All); all || r.samples || r.check == nil {
		return nil
	}
	if err := r.check("samples", sha256.Sum256([]byte(r.label))); err != nil {
		return fmt.Errorf("privacy: samples are not drawn: where another plan has drawn its own under this key they would be the same rows, for which no accountant answers; give each plan that samples a key of its own: %w", err)
	}
	r.samples = true
	return nil
}

// Expect has the noise of a step's release of so many numbers drawn while they are still
// being computed, by other cores or a device. It promises nothing and releases nothing:
// Release answers as it would without it, only sooner.
func (r *Releaser) Expect(step, numbers int) {
	p := r.plan
	if r.stored != nil || !(p.NoiseStd > 0) || step < 0 || step >= p.Steps || numbers < 1 || numbers > p.coordinates() {
		return // Release says what is wrong
	}
	ahead, err := r.secret.Ahead(numbers, p.NoiseStd, p.span(), r.label, step)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead, r.aheadOf = ahead, step
}

// expected takes what Expect has had drawn for a step's release of so many numbers, if
// anything.
func (r *Releaser) expected(step, numbers int) *noise.Ahead {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ahead == nil || r.aheadOf != step || r.ahead.Len() != numbers {
		return nil
	}
	ahead := r.ahead
	r.ahead = nil
	return ahead
}

// Release replaces values by values plus noise, both rounded to the noise's
// public grid. It is for release step ∈ [0, Steps); asked again for a step with
// the same values it gives the same answer, so a computation that was
// interrupted can be continued without spending twice.
//
// It refuses, and leaves values as they are, what the plan does not cover: a
// step too many, a step that released other values, another relation, a query
// more sensitive than planned, more coordinates than planned for. A plan for
// ε = ∞ passes values through.
func (r *Releaser) Release(values []float64, s Sensitivity, step int) error {
	released := make([]float64, len(values))
	settle, err := r.Begin(released, values, s, step)
	if err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}
	copy(values, released)
	return nil
}

// Begin is Release into dst for those who go on computing while it is found out whether
// the step has released other values before, for which a hash of all of them is taken.
// Settle waits for the answer. Until it is nil nothing that was made of dst may leave this
// process, not to a file either, and dst, which is no part of values, and values must stay
// as they are; where it is an error all of it is to be thrown away.
func (r *Releaser) Begin(dst, values []float64, s Sensitivity, step int) (settle func() error, err error) {
	at, p := func() error { return nil }, r.plan
	switch {
	case len(dst) != len(values):
		return nil, fmt.Errorf("privacy: %d places for a release of %d numbers", len(dst), len(values))
	case len(values) > 0 && &dst[0] == &values[0]:
		return nil, errors.New("privacy: a release in place of its values, which are hashed meanwhile; give it a place of its own")
	case r.stored != nil:
		if step < 0 || step >= len(r.stored) || len(r.stored[step]) != len(values) {
			return nil, fmt.Errorf("privacy: release %d of %d numbers is not among what is replayed; use the settings of the first time", step+1, len(values))
		}
		copy(dst, r.stored[step])
	case !p.Budget.Private() && p.NoiseStd == 0:
		copy(dst, values)
	default:
		if err := r.covers(len(values), s, step); err != nil {
			return nil, err
		}
		known := make(chan error, 1)
		go func() { known <- r.once(values, step) }()
		if ahead := r.expected(step, len(values)); ahead != nil {
			err = ahead.Release(dst, values)
		} else {
			err = r.secret.Release(dst, values, p.NoiseStd, p.span(), r.label, step)
		}
		if at = func() error { return <-known }; err != nil {
			return nil, cmp.Or(at(), err)
		}
	}
	return sync.OnceValue(func() error {
		if err := at(); err != nil || r.keep == nil {
			return err
		}
		return r.keep(step, dst)
	}), nil
}

// covers says why the plan does not cover a release of so many numbers.
func (r *Releaser) covers(numbers int, s Sensitivity, step int) error {
	p := r.plan
	switch {
	case step < 0 || step >= p.Steps:
		return fmt.Errorf("privacy: release %d of a plan for %d; the budget is spent, plan for more releases", step+1, p.Steps)
	case sampling.Check(p.sampler()) != nil:
		return fmt.Errorf("privacy: %w", sampling.Check(p.sampler()))
	case s.Relation != p.Sensitivity.Relation:
		return fmt.Errorf("privacy: a query under the relation %v in a plan under %v; state both under one relation", s.Relation, p.Sensitivity.Relation)
	case !(s.Value >= 0):
		return fmt.Errorf("privacy: a query of sensitivity %v; it must be a number of at least 0", s.Value)
	case !(s.Value <= p.sensitivity(step)):
		return fmt.Errorf("privacy: a query of sensitivity %v in a plan for %v; plan for the most sensitive query", s.Value, p.sensitivity(step))
	case p.sumsOnly() && !s.PerRecord:
		return fmt.Errorf("privacy: Poisson samples under %v are planned for sums of one vector a record; %s is not known to be one", s.Relation, s.Query)
	case numbers > p.coordinates():
		return fmt.Errorf("privacy: a release of %d numbers in a plan for %d; plan for the largest release", numbers, p.Coordinates)
	case !(p.NoiseStd > 0):
		return fmt.Errorf("privacy: the plan for ε = %v has no noise; complete it with Calibrate", p.Budget.Epsilon)
	}
	return nil
}

// once remembers what a step releases, as the noise's grid has it: other values under
// the same noise would give away their difference.
func (r *Releaser) once(values []float64, step int) error {
	sum := noise.Digest(values, r.plan.NoiseStd, r.plan.span())
	r.made.mu.Lock()
	defer r.made.mu.Unlock()
	if before, ok := r.made.of[step]; ok && before != sum {
		return fmt.Errorf("privacy: release %d was made of other values; the same noise on both would give away their difference", step+1)
	}
	if r.check != nil {
		if err := r.check(fmt.Sprintf("%s %d", r.label, step), sum); err != nil {
			return err
		}
	}
	r.made.of[step] = sum
	return nil
}
