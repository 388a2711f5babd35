package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"molehill/privacy/ledger/internal/store"
)

// database is the store of a ledger, and what is asked of it.
type database struct{ store.Store }

// Version is that of the tables and entries that this package writes. It reads
// no other.
const Version = store.Version

// head returns the number and the hash of the newest entry. It is where writers of a server
// wait for each other; those of a file have waited before their transaction began.
func (d database) head(ctx context.Context, tx *sql.Tx, lock string) (seq int64, hash string, err error) {
	var version int
	stop := d.Waits(ctx)
	err = tx.QueryRowContext(ctx, "SELECT version FROM molehill_ledger_head"+lock).Scan(&version)
	stop()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, "", &TamperedError{d.Where, 0, "the head is gone"}
	case err != nil:
		return 0, "", err
	case version != Version:
		return 0, "", fmt.Errorf("ledger: %s is of version %d, this program reads and writes version %d: update molehill; nothing was changed", d.Where, version, Version)
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
