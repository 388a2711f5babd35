// Package store is what the databases of a ledger have in common. A package for each
// registers it, and whoever opens a ledger imports those that it needs, like drivers of
// database/sql: most programs that know of ledgers, a cell of a notebook for one, open
// none, and linking two databases takes longer than all the rest of them.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Store is where the chain is kept. All stores speak SQL; what they say
// differently is here.
type Store struct {
	DB      *sql.DB
	Where   string                                       // for messages
	Lock    string                                       // appended to the reading of the head, to keep other writers out
	Begun   string                                       // executed at the beginning of a transaction
	Made    func(context.Context, *sql.Tx) (bool, error) // whether the tables are there
	Once    string                                       // executed before making them, to keep others from making them too
	Make    []string                                     // makes them
	Missing func() bool                                  // nothing is there at all, not even a database
	Create  func() error                                 // makes what is missing
	Advise  func(error) string                           // what to do about an error of the database's; "" for others
	Refused func(error) bool                             // whether a commit that ended with the error is known to have written nothing
}

const (
	// Patience is how long an operation waits for others, which take milliseconds
	// mostly.
	Patience = 30 * time.Second
	// Longest is how long one may take, the accountant's work included.
	Longest = 5 * time.Minute
)

// Version is that of the tables and entries that this package writes. It reads
// no other.
const Version = 1

// Tables are made in all stores. The text of an entry is JSON, its hash that
// of the text and of the hash before. The head is the newest entry's number and
// hash, once more.
var Tables = []string{
	`CREATE TABLE molehill_ledger_entry (
		seq  BIGINT PRIMARY KEY,
		body TEXT NOT NULL,
		hash TEXT NOT NULL)`,
	`CREATE TABLE molehill_ledger_head (
		id      INTEGER PRIMARY KEY CHECK (id = 1),
		version INTEGER NOT NULL,
		seq     BIGINT NOT NULL,
		hash    TEXT NOT NULL)`,
	fmt.Sprintf(`INSERT INTO molehill_ledger_head VALUES (1, %d, 0, '')`, Version),
}

// explain adds to an error of the database where it happened, what to do, and
// what became of the entry.
func (s Store) explain(err error, outcome string) error {
	if err == nil {
		return nil
	}
	advice := s.Advise(err)
	if advice == "" && outcome == unknown {
		return fmt.Errorf("ledger: %s: %w; %s", s.Where, err, outcome)
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("ledger: %s: %w; %s (%s)", s.Where, err, outcome, advice)
}

const (
	notWritten = "nothing was recorded"
	unknown    = "whether the entry was recorded is not known; the same again finds it if it was, and pays once"
)

// Write runs f in a transaction that is the only one to write, making the tables
// first if need be.
func (s Store) Write(ctx context.Context, f func(*sql.Tx) error) error {
	if s.Missing() {
		if err := s.Create(); err != nil {
			return s.explain(err, notWritten)
		}
	}
	stop := s.Waits(ctx)
	defer stop()
	tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return s.explain(err, notWritten)
	}
	defer tx.Rollback() // does nothing once committed
	err = s.prepare(ctx, tx)
	stop()
	if err == nil {
		err = f(tx)
	}
	if err != nil {
		return s.explain(err, notWritten)
	}
	outcome := unknown
	if err = tx.Commit(); s.Refused(err) {
		outcome = notWritten
	}
	return s.explain(err, outcome)
}

// prepare makes the tables if they are not there.
func (s Store) prepare(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, s.Begun); err != nil {
		return err
	}
	made, err := s.Made(ctx, tx)
	if err != nil || made {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.Once); err != nil {
		return err
	}
	if made, err = s.Made(ctx, tx); err != nil || made {
		return err
	}
	for _, statement := range s.Make {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Read runs f in a transaction that sees one state of the ledger, unless there
// is none: then found is false.
func (s Store) Read(ctx context.Context, f func(*sql.Tx) error) (found bool, err error) {
	if s.Missing() {
		return false, nil
	}
	const outcome = "nothing was read"
	stop := s.Waits(ctx)
	defer stop()
	tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return false, s.explain(err, outcome)
	}
	defer tx.Rollback()
	if _, err = tx.ExecContext(ctx, s.Begun); err == nil {
		found, err = s.Made(ctx, tx)
	}
	stop()
	if err == nil && found {
		err = f(tx)
	}
	return found, s.explain(err, outcome)
}

var opened = map[string]func(where string) (Store, error){}

// Register makes a kind of store known, in init, by the name of its package.
func Register(kind string, open func(where string) (Store, error)) {
	if opened[kind] != nil {
		panic("store: " + kind + " is registered twice")
	}
	opened[kind] = open
}

// Open opens a store of a kind that is registered. It touches nothing yet.
func Open(kind, where string) (Store, error) {
	open, ok := opened[kind]
	if !ok {
		return Store{}, &MissingError{Kind: kind}
	}
	return open(where)
}

// MissingError says that a kind of store is not part of this program.
type MissingError struct{ Kind string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("ledger: this program has no store of the kind %s: import _ %q in it; nothing was read or recorded", e.Kind, "molehill/privacy/ledger/"+e.Kind)
}
