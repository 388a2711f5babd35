// Package sqlite keeps a ledger in an SQLite file. Import it for its effect.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"molehill/privacy/ledger/internal/store"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

func init() { store.Register("sqlite", open) }

// seatBelts keep SQL by hand from changing what was written. REPLACE deletes
// without asking the trigger for it, so insertions are watched too.
var seatBelts = []string{
	`CREATE TRIGGER molehill_ledger_kept BEFORE DELETE ON molehill_ledger_entry
		BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never deleted'); END`,
	`CREATE TRIGGER molehill_ledger_unchanged BEFORE UPDATE ON molehill_ledger_entry
		BEGIN SELECT RAISE(ABORT, 'entries of the ledger are never changed'); END`,
	`CREATE TRIGGER molehill_ledger_appended BEFORE INSERT ON molehill_ledger_entry
		WHEN NEW.seq <> (SELECT seq + 1 FROM molehill_ledger_head)
		BEGIN SELECT RAISE(ABORT, 'entries of the ledger are only appended'); END`,
	`CREATE TRIGGER molehill_ledger_head_kept BEFORE DELETE ON molehill_ledger_head
		BEGIN SELECT RAISE(ABORT, 'the head of the ledger is never deleted'); END`,
	`CREATE TRIGGER molehill_ledger_head_forward BEFORE UPDATE ON molehill_ledger_head
		WHEN NEW.seq <> OLD.seq + 1
		BEGIN SELECT RAISE(ABORT, 'the head of the ledger only moves on'); END`,
}

// open returns the store in an SQLite file, whose path is absolute.
//
// The journal is deleted at each commit (no WAL): the ledger is one file, which
// can be copied, and lies safely on network file systems too. EXTRA also syncs
// the folder after that, without which a power cut can undo a commit.
func open(path string) (store.Store, error) {
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", store.Patience.Milliseconds()), "journal_mode(DELETE)", "synchronous(EXTRA)", "trusted_schema(OFF)"}}
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return store.Store{}, fmt.Errorf("ledger: %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return store.Store{
		DB: db, Where: path, Made: made, Make: slices.Concat(store.Tables, seatBelts),
		Missing: func() bool { _, err := os.Stat(path); return errors.Is(err, fs.ErrNotExist) },
		Create:  func() error { return createFile(path) },
		Advise:  advise,
		Refused: func(err error) bool { // readers were in the way for all the store.Patience there is
			var fault *sqlite.Error
			return errors.As(err, &fault) && fault.Code()&0xff == codes.SQLITE_BUSY
		},
	}, nil
}

// createFile makes an empty file that only its owner can read: notes and run IDs
// may tell more than they should.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return file.Close()
}

func made(ctx context.Context, tx *sql.Tx) (found bool, err error) {
	var all, ours int
	err = tx.QueryRowContext(ctx, "SELECT count(*), count(CASE name WHEN 'molehill_ledger_head' THEN 1 END) FROM sqlite_master").Scan(&all, &ours)
	if err == nil && all > 0 && ours == 0 {
		err = errors.New("this SQLite database is no ledger, it has other tables; nothing was changed: name another file")
	}
	return ours > 0, err
}

func advise(err error) string {
	var fault *sqlite.Error
	switch {
	case errors.As(err, &fault):
		switch fault.Code() & 0xff {
		case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
			return fmt.Sprintf("another process has kept it locked for %v: find that process, or try again", store.Patience)
		case codes.SQLITE_READONLY, codes.SQLITE_PERM:
			return "it cannot be written: change its permissions and its folder's, or set MOLEHILL_LEDGER to a ledger of yours"
		case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
			return "it is damaged, or no SQLite file at all: restore a backup; without its history nobody knows what was spent"
		case codes.SQLITE_FULL, codes.SQLITE_IOERR:
			return "the disk is full or failing: free space and try again"
		case codes.SQLITE_CANTOPEN:
			return "it cannot be opened: it must be a file, in a folder that you may write; MOLEHILL_LEDGER names another"
		}
		return "SQLite refused"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return "it cannot be made there: set MOLEHILL_LEDGER to a file in a folder of yours"
	case errors.Is(err, context.DeadlineExceeded):
		return "it was not done in time; another process may keep it locked: try again"
	}
	return ""
}
