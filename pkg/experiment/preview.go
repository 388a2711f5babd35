package experiment

import (
	"context"
	"errors"
	"io"

	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// Previewing is a Config whose private records are the asker's own, who is told of them before
// a run of it is paid for.
type Previewing interface {
	// Preview looks at the records, and tells their keeper what is better known before. It
	// returns an error where nothing should be paid.
	Preview(ctx context.Context, before Before) error
}

// Before is a run that is asked for, before it is paid for, and where to tell of it.
type Before struct {
	Store run.Store
	Spec  run.Spec
	To    io.Writer // which the keeper of the records reads, and nobody else
	// Work tells how far work of some steps is, which may take long.
	Work func(title string, steps int) Work
}

// Work is what is told of.
type Work interface {
	Step() // one more is made
	Done() // after the last
}

// Preview is CheckNew with the preview of settings that have one. It reports whether asking
// for the run costs nothing more, as it has paid or is finished: then nothing is told.
func Preview(ctx context.Context, b Before) (again bool, err error) {
	id, err := b.Spec.ID()
	if err != nil {
		return false, err
	}
	r, there := b.Store.Open(id)
	if there == nil && costsNothing(r) {
		return true, nil
	}
	_, config, err := decode(b.Spec)
	p, ok := config.(Previewing)
	if !ok {
		return false, CheckNew(b.Store, b.Spec)
	}
	if there != nil && !errors.Is(there, run.ErrUnknown) {
		return false, there
	}
	if err == nil {
		err = CheckUnread(b.Spec)
	}
	if err != nil {
		return false, err
	}
	return false, plugin.Guard(kind, b.Spec.Experiment, "Preview", func() error { return p.Preview(ctx, b) })
}

// costsNothing reports whether asking for a run again costs nothing.
func costsNothing(r *run.Run) bool {
	receipt, err := r.Receipt()
	return r.Is(run.Finished) || err == nil && receipt != ""
}
