package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// database is where the chain is kept. Both stores speak SQL; what they say
// differently is here.
type database struct {
	db      *sql.DB
	where   string                                       // for messages
	lock    string                                       // appended to the reading of the head, to keep other writers out
	begun   string                                       // executed at the beginning of a transaction
	made    func(context.Context, *sql.Tx) (bool, error) // whether the tables are there
	once    string                                       // executed before making them, to keep others from making them too
	make    []string                                     // makes them
	missing func() bool                                  // nothing is there at all, not even a database
	create  func() error                                 // makes an empty database
	advise  func(error) string                           // what to do about an error of the database's; "" for others
	refused func(error) bool                             // whether a commit that ended with the error is known to have written nothing
}

// Version is that of the tables and entries that this package writes. It reads
// no other.
const Version = 1

// tables are made in both stores. The text of an entry is JSON, its hash that
// of the text and of the hash before. The head is the newest entry's number and
// hash, once more.
var tables = []string{
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
func (d database) explain(err error, outcome string) error {
	if err == nil {
		return nil
	}
	advice := d.advise(err)
	if advice == "" {
		return err
	}
	return fmt.Errorf("ledger: %s: %w; %s (%s)", d.where, err, outcome, advice)
}

const (
	notWritten = "nothing was recorded"
	unknown    = "whether the entry was recorded is not known; the same again finds it if it was, and pays once"
)

// write runs f in a transaction that is the only one to write, making the tables
// first if need be.
func (d database) write(ctx context.Context, f func(*sql.Tx) error) error {
	if d.missing() {
		if err := d.create(); err != nil {
			return d.explain(err, notWritten)
		}
	}
	tx, err := d.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return d.explain(err, notWritten)
	}
	defer tx.Rollback() // does nothing once committed
	err = d.prepare(ctx, tx)
	if err == nil {
		err = f(tx)
	}
	if err != nil {
		return d.explain(err, notWritten)
	}
	outcome := unknown
	if err = tx.Commit(); d.refused(err) {
		outcome = notWritten
	}
	return d.explain(err, outcome)
}

// prepare makes the tables if they are not there.
func (d database) prepare(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, d.begun); err != nil {
		return err
	}
	made, err := d.made(ctx, tx)
	if err != nil || made {
		return err
	}
	if _, err := tx.ExecContext(ctx, d.once); err != nil {
		return err
	}
	if made, err = d.made(ctx, tx); err != nil || made {
		return err
	}
	for _, statement := range d.make {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// read runs f in a transaction that sees one state of the ledger, unless there
// is none: then found is false.
func (d database) read(ctx context.Context, f func(*sql.Tx) error) (found bool, err error) {
	if d.missing() {
		return false, nil
	}
	const outcome = "nothing was read"
	tx, err := d.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return false, d.explain(err, outcome)
	}
	defer tx.Rollback()
	if _, err = tx.ExecContext(ctx, d.begun); err == nil {
		found, err = d.made(ctx, tx)
	}
	if err == nil && found {
		err = f(tx)
	}
	return found, d.explain(err, outcome)
}

// head returns the number and the hash of the newest entry.
func (d database) head(ctx context.Context, tx *sql.Tx, lock string) (seq int64, hash string, err error) {
	var version int
	err = tx.QueryRowContext(ctx, "SELECT version FROM molehill_ledger_head"+lock).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, "", &TamperedError{d.where, 0, "the head is gone"}
	case err != nil:
		return 0, "", err
	case version != Version:
		return 0, "", fmt.Errorf("ledger: %s is of version %d, this program reads and writes version %d: update molehill; nothing was changed", d.where, version, Version)
	}
	err = tx.QueryRowContext(ctx, "SELECT seq, hash FROM molehill_ledger_head").Scan(&seq, &hash)
	return seq, hash, err
}

// entries calls see for each entry after the given one, in order.
func (d database) entries(ctx context.Context, tx *sql.Tx, after int64, see func(seq int64, body, hash string) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT seq, body, hash FROM molehill_ledger_entry WHERE seq > $1 ORDER BY seq", after)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var body, hash string
		if err := rows.Scan(&seq, &body, &hash); err != nil {
			return err
		}
		if err := see(seq, body, hash); err != nil {
			return err
		}
	}
	return rows.Err()
}

// insert appends an entry and moves the head to it.
func (d database) insert(ctx context.Context, tx *sql.Tx, seq int64, body, hash string) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO molehill_ledger_entry VALUES ($1, $2, $3)", seq, body, hash); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE molehill_ledger_head SET seq = $1, hash = $2", seq, hash)
	return err
}
