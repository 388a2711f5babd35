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
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return store.Store{}, fmt.Errorf("ledger: %s is no file, which a ledger is: nothing was read or recorded; MOLEHILL_LEDGER names another", path)
	}
	db, err := connect(path)
	if err != nil {
		return store.Store{}, fmt.Errorf("ledger: %s: %w", path, err)
	}
	return store.Store{
		DB: db, Where: path, Made: func(ctx context.Context, tx *sql.Tx) (bool, error) { return made(ctx, tx, path) },
		// A link to nothing is no place for a new ledger: where it leads a ledger may be missing.
		Missing: func() bool { _, err := os.Lstat(path); return errors.Is(err, fs.ErrNotExist) },
		Create:  func() error { return create(path) },
		Advise:  advise,
		Refused: func(err error) bool { // readers were in the way for all the store.Patience there is
			fault, ok := errors.AsType[*sqlite.Error](err)
			return ok && fault.Code()&0xff == codes.SQLITE_BUSY
		},
	}, nil
}

func connect(path string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", store.Patience.Milliseconds()), "journal_mode(DELETE)", "synchronous(EXTRA)", "trusted_schema(OFF)"}}
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// create makes a ledger without entries, in a file that only its owner can read: notes and
// run IDs may tell more than they should. It is made under another name and is whole when
// it gets its own, so that a ledger that is found empty has lost what it held.
func create(path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".new-*-"+filepath.Base(path)) // with 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return err
	}
	if err := fill(file.Name()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		return copyNew(file.Name(), path) // a file system without links
	}
	return syncFolder(folder)
}

// fill makes the tables in an empty file.
func fill(path string) (err error) {
	db, err := connect(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing once committed
	for _, statement := range slices.Concat(store.Tables, seatBelts) {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// copyNew copies a file to where there is none.
func copyNew(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return syncFolder(filepath.Dir(to))
}

// syncFolder makes a new name survive a power cut, where the file system can.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}

func made(ctx context.Context, tx *sql.Tx, path string) (found bool, err error) {
	var all, ours int
	err = tx.QueryRowContext(ctx, "SELECT count(*), count(CASE name WHEN 'molehill_ledger_head' THEN 1 END) FROM sqlite_master").Scan(&all, &ours)
	switch {
	case err != nil:
	case all == 0:
		err = fmt.Errorf("ledger: %s is there and has nothing in it, as no ledger has: what it held is lost; restore a backup, or remove it to begin a new one, which knows of nothing that was spent", path)
	case ours == 0:
		err = fmt.Errorf("ledger: the SQLite database %s is no ledger, it has other tables; nothing was changed: name another file", path)
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
			return "it cannot be opened: it must be a file, or a link to one, in a folder that you may write; MOLEHILL_LEDGER names another"
		}
		return "SQLite refused"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return "it cannot be made there: set MOLEHILL_LEDGER to a file in a folder of yours"
	case errors.Is(err, context.DeadlineExceeded):
		return "it was not done in time; another process may keep it locked: try again"
	}
	return ""
}
