package run

import (
	"fmt"
	"slices"
)

// ComputedOn adds to this computation's provenance what executes its graphs and
// where its records come from, one line each. A run goes on with the backend that it
// began with: another rounds otherwise, so that it would not end as it should, and the
// same noise would cover other numbers, whose difference has none. So does another
// processor, or other versions of what computes, which only runs may go on with that have
// drawn no key. From where one of these rested (Rest) it goes on with any backend. With a
// key none does: of two copies of its folder each could go on elsewhere, and neither would
// see the other's values under the same noise.
func (r *Run) ComputedOn(backend, data string) error {
	return r.amend(func(now *Provenance, earlier []Provenance) error {
		now.Backend, now.Data = backend, data
		secret, from := exists(r.path(keyCheck)), r.holding.from
		if !secret && from != nil && slices.ContainsFunc(earlier, func(p Provenance) bool { return p.Rested > 0 && p.Rested == from.step }) {
			return nil
		}
		described := last(earlier, func(p Provenance) bool { return p.Backend != "" || p.Data != "" })
		before := last(earlier, func(p Provenance) bool { return p.Backend != "" })
		if backend != "" && before.Backend != "" && before.Backend != backend {
			return fmt.Errorf("run: %s was computed on the backend %q and would go on with %q; resume it where it was computed, with the GOMLX_BACKEND and the number of cores (GOMAXPROCS) that it had there (docs/gpu.md), or delete the run and begin anew", r.ID, before.Backend, backend)
		}
		if one, other := described.computer(), now.computer(); one != other && described.recorded() && secret {
			return fmt.Errorf("run: %s was computed on %s and would go on on %s, which may round otherwise under the same noise; resume it where it was computed, or delete the run and begin anew", r.ID, one, other)
		}
		return nil
	})
}

// KeepSplit keeps how the run's records were split into a public and a private half, one line.
func (r *Run) KeepSplit(split string) error {
	return r.keep(func(now *Provenance) { now.Split = split })
}

// KeepReceipt keeps, for whoever reads the run, what the ledger says of this computation's
// releases, one line.
func (r *Run) KeepReceipt(entry string) error {
	return r.keep(func(now *Provenance) { now.Paid = entry })
}

// keep adds to this computation's provenance.
func (r *Run) keep(what func(now *Provenance)) error {
	return r.amend(func(now *Provenance, _ []Provenance) error {
		what(now)
		return nil
	})
}

// Receipt is what KeepReceipt has kept last, "" for nothing.
func (r *Run) Receipt() (entry string, err error) {
	computations, err := r.Provenance()
	for _, p := range computations {
		if p.Paid != "" {
			entry = p.Paid
		}
	}
	return entry, err
}

// amend changes what the record says of this computation, unless change returns an
// error.
func (r *Run) amend(change func(now *Provenance, earlier []Provenance) error) error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	if err := r.holding.require(r); err != nil {
		return err
	}
	record, err := readRecord(r.Dir)
	if err != nil {
		return err
	}
	last := len(record.Provenance) - 1 // Acquire has written one
	if last < 0 {
		return fmt.Errorf("run: %s has lost what it says of this computation: edited by hand? restore %s, or delete the run", r.ID, recordFile)
	}
	if err := change(&record.Provenance[last], record.Provenance[:last]); err != nil {
		return err
	}
	return writeAtomic(r.path(recordFile), 0o644, asJSON(record))
}

// last returns the last computation that ComputedOn has let through, as far as let says. One
// that was refused has computed nothing, and decides nothing about those after it; one that
// was let through had what those before it had, or there was no key yet.
func last(computations []Provenance, let func(Provenance) bool) Provenance {
	for _, p := range slices.Backward(computations) {
		if let(p) {
			return p
		}
	}
	return Provenance{}
}
