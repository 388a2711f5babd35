package ledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"

	"molehill/privacy/ledger/ledgertest"
)

// A ledger that has been cut to nothing is not taken for a new one: its budgets would be
// gone without a word.
func TestAnEmptyFileIsNoLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	mustCreate(t, open(t, path), ten)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	l := open(t, path)
	_, err := l.Status(t.Context(), "rows")
	wantError(t, err, "what it held is lost; restore a backup")
	_, err = l.Reserve(t.Context(), gaussian("a", 1))
	wantError(t, err, path+" is there and has nothing in it")
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("something was written: %v, %v", info.Size(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustReserve(t, open(t, path), gaussian("a", 1))
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the ledger something was left: %v, %v", left, err)
	}
}

func TestForeignDamagedAndNewerFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for want, spoil := range map[string]func(t *testing.T) error{
		"no SQLite file at all": func(*testing.T) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"is no ledger": func(*testing.T) error {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec("CREATE TABLE recipes (name TEXT)")
			}
			return errors.Join(err, db.Close())
		},
		"version 2, this program reads": func(t *testing.T) error {
			mustCreate(t, open(t, path), ten)
			return statements(t, path, append(unbuckle(path), "UPDATE molehill_ledger_head SET version = 2")...)
		},
		"damaged": func(t *testing.T) error {
			l := history(t, path)
			for i := range 100 { // several pages
				mustReserve(t, l, gaussian(strings.Repeat("x", 100+i), 1000))
			}
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteAt([]byte(strings.Repeat("spoilt!!", 1024)), 8192)
			}
			return errors.Join(err, file.Close())
		},
	} {
		t.Run(want, func(t *testing.T) {
			defer os.Remove(path)
			if err := spoil(t); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			l := open(t, path)
			_, err = l.Reserve(t.Context(), gaussian("a", 1))
			wantError(t, err, want)
			_, err = l.Status(t.Context())
			wantError(t, err, want)
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// An entry that a newer program wrote is no damage, and restoring a backup would lose
// what was spent since. The ledger's own chain tells the two apart.
func TestEntriesOfANewerProgram(t *testing.T) {
	for what, body := range map[string]string{
		"kind":     `{"seq":6,"time":"2030-01-01T00:00:00Z","kind":"loan","dataset":"rows"}`,
		"relation": `{"seq":6,"time":"2030-01-01T00:00:00Z","kind":"reservation","dataset":"rows","id":"d","relation":"replace-two"}`,
		"event":    `{"seq":6,"time":"2030-01-01T00:00:00Z","kind":"reservation","dataset":"rows","id":"d","relation":"replace-one","event":{"kind":"telepathy"}}`,
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			l := history(t, path)
			sound(t, l)
			if err := l.store.Write(t.Context(), func(tx *sql.Tx) error {
				return l.store.insert(t.Context(), tx, 6, body, link(l.chain.hash, body))
			}); err != nil {
				t.Fatal(err)
			}
			_, err := l.Reserve(t.Context(), gaussian("e", 9))
			_, verified := open(t, path).Verify(t.Context(), nil)
			for _, err := range []error{err, verified} {
				wantError(t, err, "entry 6", "newer molehill", "nothing was changed")
				if _, ok := errors.AsType[*TamperedError](err); ok || strings.Contains(err.Error(), "backup") {
					t.Errorf("it is taken for damage: %v", err)
				}
			}
			// With a wrong hash it is damage.
			if err := statements(t, path, append(unbuckle(path), "UPDATE molehill_ledger_entry SET hash = 'x' WHERE seq = 6", "UPDATE molehill_ledger_head SET hash = 'x'")...); err != nil {
				t.Fatal(err)
			}
			report, err := open(t, path).Verify(t.Context(), nil)
			if err != nil || len(report.Problems) == 0 {
				t.Errorf("%+v, %v; want the problem told", report, err)
			}
		})
	}
}

// A process that knows a ledger does not begin a new one in its place.
func TestALedgerThatIsRemoved(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := history(t, where)
		if strings.Contains(where, "://") {
			if err := statements(t, where, "DROP TABLE molehill_ledger_entry, molehill_ledger_head", "DROP FUNCTION molehill_ledger_refuse"); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(where); err != nil {
			t.Fatal(err)
		}
		_, err := l.Status(t.Context())
		wantError(t, err, "the whole ledger is gone")
		_, err = l.Reserve(t.Context(), gaussian("d", 9))
		wantError(t, err, "tampered")
		_, err = l.Verify(t.Context(), nil)
		wantError(t, err, "there is no ledger")
		// Replaced by another one behind its back.
		mustReserve(t, open(t, where), gaussian("x", 9))
		_, err = l.Reserve(t.Context(), gaussian("d", 9))
		if err == nil {
			t.Error("reserved in a ledger that is not the one it was")
		}
		t.Log(err)
	})
}

// Permissions do not stop root: another process, run as nobody, does the trying.
func TestAReadOnlyLedgerIsReadAndNotWritten(t *testing.T) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger.db")
	history(t, path)
	cmd := worker("readonly", path)
	// A copy of this binary, as nobody may not enter the folder of the original.
	program, err := os.ReadFile(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = filepath.Join(dir, "worker")
	if err := errors.Join(os.WriteFile(cmd.Path, program, 0o755), os.Chmod(path, 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); errors.Is(err, os.ErrPermission) {
		t.Skip("nobody may not execute this test's binary")
	} else if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func readOnly(path string) error {
	l, err := Open(path)
	if err != nil {
		return err
	}
	defer l.Close()
	if all, err := l.Status(context.Background()); err != nil || len(all) != 1 || all[0].Runs != 3 {
		return errors.Join(err, errors.New("expected 3 runs to be read"))
	}
	_, err = l.Reserve(context.Background(), gaussian("d", 9))
	// Whether it can be written, too, is told before anybody computes.
	for _, err := range []error{err, l.Writable(context.Background())} {
		if err == nil || !strings.Contains(err.Error(), "it cannot be written") || !strings.Contains(err.Error(), "nothing was recorded") {
			return errors.Join(errors.New("expected to be refused, found"), err)
		}
	}
	return nil
}

// Who gives up waiting for a lock has recorded nothing.
func TestALockedLedgerIsWaitedFor(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l, other := history(t, where), open(t, where)
		held, free := make(chan struct{}), make(chan struct{})
		done := make(chan error)
		go func() {
			done <- other.store.Write(t.Context(), func(tx *sql.Tx) error {
				_, _, err := other.store.head(t.Context(), tx, other.store.Lock)
				close(held)
				<-free
				return err
			})
		}()
		<-held
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := l.Reserve(ctx, gaussian("d", 9)); !errors.Is(err, context.DeadlineExceeded) && (err == nil || !strings.Contains(err.Error(), "nothing was recorded")) {
			t.Errorf("a reservation of a locked ledger: %v", err)
		}
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if held, err := l.Holds(t.Context(), gaussian("d", 9)); held || err != nil {
			t.Errorf("what was given up is recorded: %v, %v", held, err)
		}
		mustReserve(t, l, gaussian("d", 9))
		if s := status(t, l); s.Runs != 4 {
			t.Errorf("%d runs, want 4", s.Runs)
		}
	})
}

// Who waits long for the file of a ledger is told so, in reading and in writing; who does
// not is told nothing.
func TestWaitingIsTold(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger.db")
	l, other := history(t, where), open(t, where)
	told := make(chan string, 9)
	ctx := Waiting(t.Context(), func(where string) { told <- where })
	if _, err := l.Reserve(ctx, gaussian("before", 9)); err != nil || len(told) > 0 {
		t.Errorf("%v; %d words without a wait", err, len(told))
	}
	for name, wait := range map[string]func() error{
		"writing": func() error { _, err := l.Reserve(ctx, gaussian("after", 9)); return err },
		"reading": func() error { _, err := l.Status(ctx); return err },
	} {
		held, free := make(chan struct{}), make(chan struct{})
		done := make(chan error)
		go func() {
			db := other.store.DB
			connection, err := db.Conn(t.Context())
			if err == nil {
				_, err = connection.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
			}
			close(held)
			<-free
			if err == nil {
				_, err = connection.ExecContext(t.Context(), "ROLLBACK")
			}
			done <- errors.Join(err, connection.Close())
		}()
		<-held
		waited := make(chan error)
		go func() { waited <- wait() }()
		select {
		case what := <-told:
			if what != l.String() {
				t.Errorf("%s: waits for %q, want %q", name, what, l)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: nothing is told", name)
		}
		close(free)
		if err := errors.Join(<-done, <-waited); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who is cancelled at the commit cannot know what became of it, and is told that the same
// again is safe.
func TestCancelledAtTheCommit(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := history(t, where)
		ctx, cancel := context.WithCancel(t.Context())
		err := l.store.Write(ctx, func(*sql.Tx) error {
			cancel()
			return nil
		})
		wantError(t, err, l.String(), "whether the entry was recorded is not known", "pays once")
		mustReserve(t, l, gaussian("d", 9))
	})
}

// A reader can keep a commit of a file out: SQLite then has written nothing, and says so.
func TestAReaderInTheWay(t *testing.T) {
	l := history(t, filepath.Join(t.TempDir(), "ledger.db"))
	fault := &sqlite.Error{}
	if l.store.Refused(nil) || l.store.Refused(errors.New("disk I/O error")) || l.store.Refused(fault) {
		t.Error("what is not known is called refused")
	}
	if _, err := l.store.DB.ExecContext(t.Context(), "PRAGMA busy_timeout = 50"); err != nil { // of the only connection
		t.Fatal(err)
	}
	reader := open(t, l.String())
	_, err := reader.store.Read(t.Context(), func(tx *sql.Tx) error {
		if _, _, err := reader.store.head(t.Context(), tx, ""); err != nil {
			return err
		}
		_, err := l.Reserve(t.Context(), gaussian("d", 9))
		wantError(t, err, "nothing was recorded")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Another one, since the same again would find what was recorded after all.
	if e := mustReserve(t, l, gaussian("e", 9)); e.Seq != 6 {
		t.Errorf("entry %d, want 6", e.Seq)
	}
	if s := status(t, open(t, l.String())); s.Runs != 4 {
		t.Errorf("%d runs, want 4", s.Runs)
	}
}

// A server that is killed while a transaction is open has recorded nothing of
// it; what it acknowledged before is there when it is back, and the same
// reservation then gets through once.
func TestAServerThatGoesAway(t *testing.T) {
	server := ledgertest.Postgres(t) // of its own, to be killed
	l := history(t, server.DSN())
	before := sound(t, l)
	err := l.store.Write(t.Context(), func(tx *sql.Tx) error {
		if err := l.chain.catchUp(t.Context(), l.store, tx, l.store.Lock); err != nil {
			return err
		}
		if err := l.store.insert(t.Context(), tx, 6, "{}", "half a reservation"); err != nil {
			return err
		}
		return server.Kill() // and the commit finds nobody
	})
	wantError(t, err, "whether the entry was recorded is not known", "pays once")
	_, err = l.Reserve(t.Context(), gaussian("d", 9))
	wantError(t, err, "nothing was recorded", "is the server running")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if after := sound(t, l); after.Head != before.Head {
		t.Errorf("the head was %v, is %v", before.Head, after.Head)
	}
	first := mustReserve(t, l, gaussian("d", 9))
	if again := mustReserve(t, l, gaussian("d", 9)); again.Seq != first.Seq || first.Seq != 6 {
		t.Errorf("reserved as entries %d and %d, want 6", first.Seq, again.Seq)
	}
}

// worker prepares this test binary to run as the named worker on a ledger.
func worker(name, where string, more ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(more, "MOLEHILL_TEST_WORKER="+name, Variable+"="+where)...)
	return cmd
}
