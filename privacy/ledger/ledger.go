// Package ledger keeps what each data set's budget is and who spent how much of
// it, durably and for all processes that share it: in an SQLite file, or in
// PostgreSQL for a team.
//
//	import _ "molehill/privacy/ledger/sqlite" // the store; or postgres
//
//	l, err := ledger.Open(path)              // or "postgres://…"
//	l.Create(ctx, ledger.Budget{Dataset: "mnist", Epsilon: 10, …})
//	l.Reserve(ctx, ledger.Reservation{…})    // before the first release
//	l.Commit(ctx, "mnist", id)               // after the last
//
// A run reserves before it computes. What is reserved stays spent: a crash or a
// failed run refunds nothing, because what it released may have been seen. One
// transaction composes everything that counts (of a budget from now on, what is
// reserved from then on) with the new event by the accountant, never by adding ε up, and refuses what would exceed the
// budget; so no interleaving of processes overspends.
//
// Entries are only ever appended. Each one's hash covers its text and the hash
// before it, and the newest hash is kept apart, so that an entry that was
// changed, removed, inserted or moved is found by every reader, and a tail that
// was cut off too. What cannot be found from within: whoever may write the
// database can make up a whole new chain, or put back an older copy of all of
// it. Keep the head that Verify returns somewhere else and hand it to the next
// Verify; then these are found as well.
//
// Composition is proved for queries that may depend on what earlier runs
// released, under noise that was fixed beforehand. Runs that choose their noise,
// steps or sampling in the light of earlier results need a privacy filter
// (Rogers et al. 2016): a budget with an Order is one; without, it is one for
// Gaussians on all records (Smith & Thakurta 2022), and for others counts as if the
// choice had been made before.
//
// The ledger counts what goes through it. A data set under two names has two
// budgets, and so have two ledgers.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"molehill/privacy/ledger/internal/store"
)

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	store database

	mu    sync.Mutex
	chain chain // what has been read so far
}

// Open returns the ledger at where: the path of an SQLite file, or a
// postgres:// address. Nothing is read yet, and nothing is made before the first
// entry is written. A program that opens ledgers imports the stores that they may be in,
// for their effect; without, the error is a [MissingError].
func Open(where string) (*Ledger, error) {
	kind, where, err := kindOf(where)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(kind, where)
	if err != nil {
		return nil, err
	}
	return &Ledger{store: database{s}, chain: newChain()}, nil
}

// kindOf tells the store that an address is for, and makes paths absolute.
func kindOf(where string) (kind, address string, err error) {
	switch scheme, _, found := strings.Cut(where, "://"); {
	case where == "":
		return "", "", fmt.Errorf("ledger: expected the path of a file or a postgres:// address, found nothing")
	case !found:
		if where, err = filepath.Abs(where); err != nil {
			return "", "", fmt.Errorf("ledger: %w", err)
		}
		return "sqlite", where, nil
	case scheme == "postgres" || scheme == "postgresql":
		return "postgres", where, nil
	default:
		return "", "", fmt.Errorf("ledger: %s:// is no place for a ledger; expected the path of a file or postgres://", scheme)
	}
}

// MissingError says that a ledger is in a store that this program does not import.
type MissingError = store.MissingError

// Variable is the environment variable that names the ledger of all runs: a
// file, or a postgres:// address.
const Variable = "MOLEHILL_LEDGER"

// Default says where the ledger is: where [Variable] says; else
// molehill/ledger.db in the folder for the user's data ($XDG_DATA_HOME, or
// .local/share at home). It belongs to the user and not to a checkout or a
// cache, which may be deleted while what was spent stays spent.
func Default() (string, error) {
	if where := os.Getenv(Variable); where != "" {
		if !filepath.IsAbs(where) && !strings.Contains(where, "://") {
			return "", fmt.Errorf("ledger: %s is %q, which is another file in each folder that runs are asked for in; expected a path that begins with a slash, or a postgres:// address", Variable, where)
		}
		return where, nil
	}
	dir := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("ledger: no place for it: %w; set %s to a file, or to a postgres:// address", err, Variable)
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dir, "molehill", "ledger.db"), nil
}

// Waiting returns a context in which whoever waits two seconds for others to unlock a
// ledger says so, with where it is. Say may be called in a goroutine of its own, and more
// than once.
func Waiting(ctx context.Context, say func(where string)) context.Context {
	return store.Waiting(ctx, say)
}

// String says where the ledger is, without passwords.
func (l *Ledger) String() string { return l.store.Where }

// Place is what the ledger of [Default] is called, whether it is there or not.
func Place() (string, error) {
	where, err := Default()
	if err != nil {
		return "", err
	}
	kind, path, err := kindOf(where)
	if err != nil || kind == "sqlite" {
		return path, err
	}
	l, err := Open(where)
	if err != nil {
		return "", err
	}
	return l.String(), l.Close()
}

// Close lets go of the database.
func (l *Ledger) Close() error { return l.store.DB.Close() }

// Create declares the budget of a data set, once. Everything reserved for it
// before counts, unless b.FromNow is set; if that is more than the budget, or
// cannot be composed under its relation, nothing is created and the error says
// so.
func (l *Ledger) Create(ctx context.Context, b Budget) (Entry, error) {
	if err := b.check(); err != nil {
		return Entry{}, err
	}
	return l.append(ctx, func(c *chain) (Entry, error) {
		a := c.account(b.Dataset)
		if a.budget != nil {
			return Entry{}, fmt.Errorf("ledger: %s has a budget already, %v, since %s; a budget is declared once", b.Dataset, *a.budget, a.entries[a.from].Time.Format(time.DateTime))
		}
		b.Carries = b.FromNow
		e := Entry{Kind: Declared, Dataset: b.Dataset, Budget: &b, Note: b.Note}
		spent, err := a.declared(b)
		e.Epsilon = &spent
		return e, err
	})
}

// Writable returns an error unless something can be written to the ledger, and writes
// nothing. Of one that is not there yet it says nothing.
func (l *Ledger) Writable(ctx context.Context) error {
	if l.store.Missing() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, store.Longest)
	defer cancel()
	written, taken := false, errors.New("what was written is taken back")
	err := l.store.Write(ctx, func(tx *sql.Tx) error {
		if err := l.chain.catchUp(ctx, l.store, tx, l.store.Lock); err != nil {
			return err
		}
		if err := l.store.insert(ctx, tx, l.chain.seq+1, "{}", ""); err != nil {
			return err
		}
		written = true
		return taken
	})
	if written {
		return nil
	}
	return err
}

// Reserve records that r is about to be released, and returns its entry. With a
// budget it refuses, with an [ExceededError], what would exceed it, and whatever
// the accountant has no theorem for. Without one it records all the same, so
// that the history tells once there is a budget.
//
// The same ID with the same event again is the same noise on the same queries,
// of a run that goes on after a crash: it returns the entry that is there and
// costs nothing, unless the run was ended, or was over before a budget that counts from
// then on. With another event it is refused.
//
// After an error nothing was reserved, but for a connection lost at the very
// end, which the error says; calling again with the same ID is always safe.
func (l *Ledger) Reserve(ctx context.Context, r Reservation) (Entry, error) {
	entry, err := r.entry()
	if err != nil {
		return Entry{}, err
	}
	found, err := l.append(ctx, func(c *chain) (Entry, error) {
		a := c.account(r.Dataset)
		if before, ok := a.reservation(r.ID); ok {
			return before, before.same(entry)
		}
		e := entry
		if a.budget == nil {
			return e, nil
		}
		spent, err := a.admit(r)
		e.Epsilon = &spent
		return e, err
	})
	if exceeded, ok := errors.AsType[*ExceededError](err); ok {
		exceeded.explain() // now that the lock is free: it takes the accountant a while
	}
	return found, err
}

// Commit records that the run with this reservation is complete. Committing
// again changes nothing.
func (l *Ledger) Commit(ctx context.Context, dataset, id string) (Entry, error) {
	return l.commit(ctx, dataset, id, false)
}

// End is Commit by a person, who says that a run which did not get so far is over. If it
// goes on all the same it has to reserve, and pays, again.
func (l *Ledger) End(ctx context.Context, dataset, id string) (Entry, error) {
	return l.commit(ctx, dataset, id, true)
}

// Holds reports whether a reservation is there already, so that reserving it again would
// cost nothing.
func (l *Ledger) Holds(ctx context.Context, r Reservation) (held bool, err error) {
	entry, err := r.entry()
	if err != nil {
		return false, err
	}
	err = l.look(ctx, func(c *chain) error {
		before, ok := c.account(r.Dataset).reservation(r.ID)
		held = ok && before.same(entry) == nil
		return nil
	})
	return held, err
}

// Complete reports whether the run of a reservation has ever committed it: all that it
// releases it has released. That it reserves, and pays, again changes nothing of that, nor
// is a run complete that a person has said to be over.
func (l *Ledger) Complete(ctx context.Context, dataset, id string) (complete bool, err error) {
	err = l.look(ctx, func(c *chain) error {
		complete = slices.ContainsFunc(c.account(dataset).entries, func(e Entry) bool {
			return e.Kind == Committed && e.ID == id && !e.Ended
		})
		return nil
	})
	return complete, err
}

func (l *Ledger) commit(ctx context.Context, dataset, id string, ended bool) (Entry, error) {
	return l.append(ctx, func(c *chain) (Entry, error) {
		a := c.account(dataset)
		reserved, ok := a.reserved[id]
		if !ok {
			if ended {
				return Entry{}, fmt.Errorf("ledger: %s has no reservation %q that could be over; `molehill budget history %[1]s` lists those that there are", dataset, id)
			}
			return Entry{}, fmt.Errorf("ledger: %s has no reservation %q to commit; reserve before computing", dataset, id)
		}
		if at, ok := a.committed[id]; ok && at > reserved {
			return a.entries[at], nil
		}
		return Entry{Kind: Committed, Dataset: dataset, ID: id, Ended: ended}, nil
	})
}
