package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"molehill/pkg/dataset"
	"molehill/pkg/npy"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/noise"
)

// Promise is what a run promises about private records: a calibrated plan, what its noise
// is tied to, and what the statement says beside it.
type Promise struct {
	Data       string // what the ledger calls the data set; "" for points made for the run, which nobody pays for
	Plan       privacy.Plan
	Rows       []float32       // the records,
	Labels     []int           // and what else they have (Bind)
	Published  []privacy.Claim // claims of others about the same noise; it has to prove the plan's ε where none is of that
	Beside     []string        // what the promise does not cover, beside how many records there are and what none covers
	NotCovered []string        // all that it does not cover, where that is something else; nil for Beside

	Further []accountant.Event       // what the run releases beside the plan
	Amend   func(*privacy.Statement) // adds what that proves; nil for nothing
}

// Paid is a promise that has been paid for. Everything computed from the records has to go
// through the releaser, and Commit is to be called after the last release.
type Paid struct {
	Payment
	Releaser  *privacy.Releaser
	Statement privacy.Statement
}

// ReleaseFile is the artefact with what a run has released at once, float64 (Paid.Keep).
const ReleaseFile = "release.npy"

// Keep leaves a single release among the run's artefacts: whoever has it can make more of it,
// in other ways, and spends nothing.
func (p Paid) Keep(r *run.Run) {
	p.Releaser.Keep(func(_ int, released []float64) error {
		return r.WriteFile(ReleaseFile, func(w io.Writer) error { return npy.WriteOf(w, []int{len(released)}, released) })
	})
}

// Make makes a run's promise in the one order that is safe: it accounts for the plan, ties
// the run's noise to it and to the records, writes the statement, and pays. Only then there
// is a releaser.
func (p Promise) Make(ctx context.Context, r *run.Run) (Paid, error) {
	pay, err := p.Later(ctx, r)
	if err != nil {
		return Paid{}, err
	}
	return pay()
}

// Later is Make for what begins on public rows, and may fail there: pay is to be called
// before anything is computed from the records, and may be called again.
func (p Promise) Later(ctx context.Context, r *run.Run) (pay func() (Paid, error), err error) {
	if err := cmp.Or(CheckDelta(p.Plan.Budget, r.Spec.Research, p.Plan.Records), noise.CheckStd(p.Plan.NoiseStd)); err != nil {
		return nil, err
	}
	key, err := r.Key()
	if err != nil {
		return nil, err
	}
	secret := noise.Keyed(key, r.Spec.Research)
	if p.NotCovered == nil {
		p.NotCovered = NotCovered(p.Data, append(slices.Clone(p.Beside), fmt.Sprintf("the number of private records, %d, which is public", p.Plan.Records))...)
	}
	statement, err := p.Plan.Statement(secret, p.Published, p.NotCovered...)
	if err != nil {
		return nil, err
	}
	if err := p.asked(r, statement); err != nil {
		return nil, err
	}
	if p.Amend != nil {
		p.Amend(&statement)
	}
	if err := Bind(r, statement, p.Rows, p.Labels); err != nil {
		return nil, err
	}
	if err := r.WritePrivacy(statement); err != nil {
		return nil, err
	}
	return sync.OnceValues(func() (Paid, error) {
		var payment Payment
		if p.Data != "" {
			var err error
			if payment, err = Reserve(ctx, r, p.Data, p.Plan, p.Further...); err != nil {
				return Paid{}, err
			}
		}
		return Paid{payment, Releaser(r, p.Plan, secret), statement}, nil
	}), nil
}

// asked refuses noise that does not prove the ε that was asked for, unless a paper claims
// that, or less, of it: such a run says so before it begins.
func (p Promise) asked(r *run.Run, s privacy.Statement) error {
	if s.Asked == 0 {
		return nil
	}
	if !slices.ContainsFunc(p.Published, func(c privacy.Claim) bool { return c.Epsilon <= s.Asked*(1+1e-6) }) {
		return fmt.Errorf("the noise proves ε = %v, and ε = %v was asked for, which no paper claims of it either: ask for what it proves, or take more noise, such as the least that proves ε, which a run has with noise=0 and published=false", s.Epsilon(), s.Asked)
	}
	r.Say(run.Event{Message: fmt.Sprintf("the noise is as a paper has it: it proves ε = %v, and not ε = %v, which was asked for", s.Epsilon(), s.Asked)}) // and the statement says it too
	return nil
}

// CheckDelta refuses the δ of a budget under which a method may publish one of n records
// now and then, where that protects anybody: not in research, and not without a budget.
func CheckDelta(b privacy.Budget, research bool, n int) error {
	if research || !b.Private() || b.Delta*float64(n) < 1 {
		return nil
	}
	return fmt.Errorf("delta is %g, which is not below 1/%d and so allows a method that publishes a record now and then; take a smaller one, such as %.0e", b.Delta, n, 0.1/float64(n))
}

// Releaser returns the releaser of the plan that a run has reserved, or will, which makes
// no release of another plan, nor of other values than the run has made it of before
// (run.Run.Once).
func Releaser(r *run.Run, plan privacy.Plan, secret noise.Source) *privacy.Releaser {
	release, of := plan.Releaser(secret), plan.Digest()
	release.Remember(func(name string, digest [32]byte) error {
		if err := only(r, of); err != nil {
			return err
		}
		return r.Once(name, digest)
	})
	return release
}

// only has a run release by one plan (its Digest), the first that is reserved or releases: what the
// ledger takes for the same may be released in another order, say, with fresh noise.
func only(r *run.Run, plan [32]byte) error {
	err := r.Once("plan", plan)
	if errors.Is(err, run.ErrOther) {
		return fmt.Errorf("%s would release by another plan than the one that it began with: reserve the plan that it releases by, and no other, or give what is to be released a run of its own", r.ID)
	}
	return err
}

// ClassesNotCovered is the line of a promise about records with labels: how many classes
// there are is public, and of which one a record is is not.
func ClassesNotCovered(classes int) string {
	return fmt.Sprintf("the number of classes, %d, and their names, which are public; which class a record is of is protected like the rest of it", classes)
}

// HalfNotCovered is the line of a promise about all images of a data set whose public half
// may have trained an autoencoder: beside that network the half is not protected.
func HalfNotCovered(name string) string {
	return fmt.Sprintf("what an autoencoder of %s tells, the one that ships or any that is trained on it: it learns from one half of these images without noise, as public ones, and no ledger counts that", name)
}

// TimeNotCovered is the line of a promise about the clock. Where a training looks at its
// records in each step, the speed that it tells of on the way does, too.
const TimeNotCovered = "how long it took, in all and step by step: times are recorded beside the run, and may depend on the records"

// SettingsNotCovered is the line of a promise about how its settings came about: presets were
// tried on the data sets of lessons and papers, private rows included.
const SettingsNotCovered = "the choice of settings: presets were chosen by runs on the data sets that Molehill knows (MNIST, Fashion-MNIST, CelebA, Adult), and no run pays for a choice that earlier runs on its records have led to"

// NotCovered is what a promise about a data set's private records does not
// cover: these lines, and what no promise covers.
func NotCovered(name string, lines ...string) []string {
	all := slices.Clone(lines)
	if source, err := dataset.Registry.Lookup(name); err == nil && source.Public() {
		all = slices.Insert(all, 0, fmt.Sprintf("nothing of %s needs protection: it is public by construction, and no ledger counts runs on it", name))
	} else {
		all = append(all, fmt.Sprintf("other runs on the same records: `molehill budget status %s` tells what all of them cost together", name))
	}
	return append(all, TimeNotCovered, SettingsNotCovered)
}
