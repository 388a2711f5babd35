package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"molehill/pkg/dataset"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
)

// Promise makes a calibrated plan the run's promise about a data set's private
// records, in the one order that is safe: it accounts for the plan, ties the
// run's noise to it and to the records (rows, labels; see Bind), writes the
// statement, and pays. Only then there is a releaser, through which everything
// computed from the records has to go. The payment is to be committed after the
// last release.
//
// published are claims of others about the same noise; notCovered lists what the
// promise leaves out beyond what is always left out.
func Promise(ctx context.Context, r *run.Run, name string, plan privacy.Plan, rows []float32, labels []int, published []privacy.Claim, notCovered ...string) (*privacy.Releaser, Payment, error) {
	release, pay, err := PromiseLater(ctx, r, name, plan, rows, labels, published, notCovered...)
	if err != nil {
		return nil, Payment{}, err
	}
	paid, err := pay()
	if err != nil {
		return nil, Payment{}, err
	}
	return release, paid, nil
}

// PromiseLater is Promise for what begins on public rows, and may fail there: pay is to
// be called before anything is computed from the records, and may be called again.
func PromiseLater(ctx context.Context, r *run.Run, name string, plan privacy.Plan, rows []float32, labels []int, published []privacy.Claim, notCovered ...string) (release *privacy.Releaser, pay func() (Payment, error), err error) {
	key, err := r.Key()
	if err != nil {
		return nil, nil, err
	}
	secret := noise.Keyed(key, r.Spec.Research)
	notCovered = append(slices.Clone(notCovered), fmt.Sprintf("the number of private records, %d, which is public", plan.Records))
	statement, err := plan.Statement(secret, published, LeftOut(name, notCovered...)...)
	if err != nil {
		return nil, nil, err
	}
	if err := Bind(r, statement, rows, labels); err != nil {
		return nil, nil, err
	}
	if err := r.WritePrivacy(statement); err != nil {
		return nil, nil, err
	}
	return Releaser(r, plan, secret), sync.OnceValues(func() (Payment, error) { return Reserve(ctx, r, name, plan) }), nil
}

// Releaser returns the releaser of the plan that a run has reserved, or will, which makes
// no release of another plan, nor of other values than the run has made it of before
// (run.Once).
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

// ClassesLeftOut is the line of a promise about records with labels: how many classes
// there are is public, and of which one a record is is not.
func ClassesLeftOut(classes int) string {
	return fmt.Sprintf("the number of classes, %d, and their names, which are public; which class a record is of is protected like the rest of it", classes)
}

// HalfLeftOut is the line of a promise about all images of a data set whose public half
// may have trained an autoencoder: beside that network the half is not protected.
func HalfLeftOut(name string) string {
	return fmt.Sprintf("what an autoencoder of %s tells, the one that ships or any that is trained on it: it learns from one half of these images without noise, as public ones, and no ledger counts that", name)
}

// TimeLeftOut is the line of a promise about the clock. Where a training looks at its
// records in each step, the speed that it tells of on the way does, too.
const TimeLeftOut = "how long it took, in all and step by step: times are recorded beside the run, and may depend on the records"

// SettingsLeftOut is the line of a promise about how its settings came about: presets were
// tried on the data sets of lessons and papers, private rows included.
const SettingsLeftOut = "the choice of settings: presets were chosen by runs on the data sets that Molehill knows (MNIST, Fashion-MNIST, CelebA, Adult), and no run pays for a choice that earlier runs on its records have led to"

// LeftOut is what a promise about a data set's private records leaves out: these lines,
// and what every promise leaves out.
func LeftOut(name string, lines ...string) []string {
	all := append(slices.Clone(lines),
		fmt.Sprintf("other runs on the same records: `molehill budget status %s` tells what all of them cost together", name),
		TimeLeftOut,
		SettingsLeftOut)
	if source, err := dataset.Registry.Lookup(name); err == nil && source.Public() {
		all = slices.Insert(all, 0, fmt.Sprintf("nothing of %s needs protection: it is public by construction", name))
	}
	return all
}
