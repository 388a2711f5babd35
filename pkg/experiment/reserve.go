package experiment

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/accountant"
	"molehill/privacy/ledger"
)

// Payment is what a run has reserved in the ledger.
type Payment struct {
	where       string // the ledger; "" where nothing had to be paid
	reservation ledger.Reservation
}

// Reserve pays for everything that a plan releases of a data set's private rows, and
// for further events of the same run and relation.
// Every experiment that looks at private rows calls it before the first release,
// also if the plan has no noise, and commits the payment after its last.
//
// The ledger refuses what would exceed the data set's budget. It is the one that the run
// was asked for with: no other knows what else was spent. A run that goes on
// after a crash has the same noise key and pays nothing more; one with another
// key pays again, and one that has committed makes no release that it has not made
// before. Data sets that are public by construction cost nothing.
func Reserve(ctx context.Context, r *run.Run, name string, plan privacy.Plan, further ...accountant.Event) (Payment, error) {
	if err := only(r, plan.Digest()); err != nil {
		return Payment{}, err
	}
	source, err := dataset.Registry.Lookup(name)
	if err != nil || source.Public() {
		return Payment{}, err
	}
	key, err := r.KeyID()
	if err != nil {
		return Payment{}, err
	}
	where, err := ledger.Default()
	if err != nil {
		return Payment{}, err
	}
	event := plan.Event()
	if len(further) > 0 {
		event = accountant.Composed{Events: append([]accountant.Event{event}, further...)}
	}
	p := Payment{where, ledger.Reservation{
		Dataset: name, ID: fmt.Sprintf("%s/%.16s", r.ID, key),
		Event: event, Relation: plan.Sensitivity.Relation, Research: r.Spec.Research, Note: plan.Sensitivity.Query,
	}}
	ctx = ledger.Waiting(ctx, func(where string) {
		r.Say(run.Event{Message: "waiting for another process to leave the ledger " + where + " alone"})
	})
	var entry ledger.Entry
	err = p.open(func(l *ledger.Ledger) error {
		if err := asked(ctx, r, l, p.reservation); err != nil {
			return err
		}
		where = l.String()
		if entry, err = l.Reserve(ctx, p.reservation); err != nil || r.Spec.Research {
			return err
		}
		complete, err := l.Complete(ctx, name, p.reservation.ID)
		if complete {
			err = r.Complete()
		}
		return err
	})
	if err != nil {
		return Payment{}, err
	}
	spent := name + " had no budget"
	if entry.Epsilon != nil {
		spent = fmt.Sprintf("with it ε = %v of the budget of %s is spent", entry.Epsilon, name)
	}
	receipt := fmt.Sprintf("entry %d (%.12s…) of the ledger %s; %s", entry.Seq, entry.Hash, where, spent)
	if entry.Epsilon == nil {
		receipt += fmt.Sprintf(", and without one nothing stops further runs: `molehill budget create %s --epsilon …`", name)
	}
	message := fmt.Sprintf("reserved as entry %d of the ledger; %s", entry.Seq, spent)
	if entry.Seq == 1 { // a slip in the ledger's name would look like this
		first := fmt.Sprintf("; the ledger is new, and knows of nothing that was spent before (%s names another)", ledger.Variable)
		receipt, message = receipt+first, message+first
	}
	said := run.Event{Message: message}
	_ = errors.Join(r.KeepReceipt(receipt), r.Emit(said)) // what cannot be told is paid all the same
	return p, nil
}

// asked refuses a ledger that is not the one that the run was asked for with, unless the
// run has paid in it already, however it was called then.
func asked(ctx context.Context, r *run.Run, l *ledger.Ledger, paying ledger.Reservation) error {
	if r.Spec.Ledger == "" || r.Spec.Ledger == l.String() {
		return nil
	}
	if held, err := l.Holds(ctx, paying); held || err != nil {
		return err
	}
	return fmt.Errorf("%s was asked for where the ledger is %s, and would pay in %v: set %s to the first, or delete the run and ask for it anew", r.ID, r.Spec.Ledger, l, ledger.Variable)
}

// Commit records that the run is complete. What was reserved is spent without it
// too.
func (p Payment) Commit(ctx context.Context) error {
	if p.where == "" {
		return nil
	}
	err := p.open(func(l *ledger.Ledger) error {
		_, err := l.Commit(ctx, p.reservation.Dataset, p.reservation.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("the run's releases are made and paid for, and the ledger could not note that they are all: %w", err)
	}
	return nil
}

// open opens the ledger for a moment: a run takes hours, its two entries do not.
func (p Payment) open(use func(*ledger.Ledger) error) error {
	l, err := ledger.Open(p.where)
	if err != nil {
		return err
	}
	return errors.Join(use(l), l.Close())
}
