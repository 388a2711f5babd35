package ledger

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Clients that are the first to write to a new server, at the same time, all get through.
func TestTheFirstClientsOfAServer(t *testing.T) {
	for _, where := range []string{newDatabase(t), inSchema(newDatabase(t), "public")} {
		const clients = 8
		done := make(chan error, clients)
		for i := range clients {
			l := open(t, where)
			go func() {
				_, err := l.Reserve(t.Context(), gaussian(string(rune('a'+i)), 20))
				done <- err
			}()
		}
		for range clients {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if s := status(t, open(t, where)); s.Runs != clients {
			t.Errorf("%d runs, want %d", s.Runs, clients)
		}
	}
}

// held is a ledger that another client holds in a transaction: its head or, before its tables
// are made, the lock under which they are.
func held(t *testing.T, made bool) (*Ledger, *sql.Tx) {
	t.Helper()
	where := newDatabase(t)
	l, other := open(t, where), open(t, where)
	lock := other.store.Once
	if made {
		mustCreate(t, l, ten)
		lock = "SELECT seq FROM molehill_ledger_head" + other.store.Lock
	}
	tx, err := other.store.DB.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, tx
}

// Whom another client keeps waiting, for the tables to be made or for the head, is told who
// is in the way.
func TestAClientInTheWay(t *testing.T) {
	for _, made := range []bool{false, true} {
		l, tx := held(t, made)
		l.store.Begun += "; SET LOCAL lock_timeout = 50" // ms
		_, err := l.Reserve(t.Context(), gaussian("a", 9))
		wantError(t, err, "another client has kept it locked", "nothing was recorded")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		mustReserve(t, l, gaussian("a", 9))
	}
}

// Who waits long for another client of a server is told so, for the tables to be made as for
// the head; who only reads waits for nobody, and is told nothing.
func TestWaitingForAClientIsTold(t *testing.T) {
	for _, made := range []bool{false, true} {
		l, tx := held(t, made)
		told := make(chan string, 9)
		ctx := Waiting(t.Context(), func(where string) { told <- where })
		if _, err := l.Status(ctx); err != nil || len(told) > 0 {
			t.Errorf("reading: %v; %d words without a wait", err, len(told))
		}
		waited := make(chan error)
		go func() { _, err := l.Reserve(ctx, gaussian("a", 9)); waited <- err }()
		select {
		case what := <-told:
			if what != l.String() {
				t.Errorf("it waits for %q, want %q", what, l)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("tables made %v: nothing is told", made)
		}
		if err := errors.Join(tx.Rollback(), <-waited); err != nil {
			t.Error(err)
		}
		if len(told) > 0 {
			t.Errorf("tables made %v: it is told once more", made)
		}
	}
}

// An address without a database would be another ledger for each user.
func TestAnAddressNamesItsDatabase(t *testing.T) {
	t.Setenv("PGDATABASE", "")
	_, err := Open("postgres://team@127.0.0.1:5432")
	wantError(t, err, "names no database", "postgres://user@host/database")
	t.Setenv("PGDATABASE", "budgets")
	l := open(t, "postgres://team@127.0.0.1:5432")
	if !strings.HasSuffix(l.String(), "/budgets") {
		t.Errorf("it is called %v, want the name of the database in it", l)
	}
}

// Who may not make the tables, or not use those that are there, is told what to ask for.
func TestUsersWithoutRightsAreToldWhichTheyNeed(t *testing.T) {
	where := newDatabase(t)
	guest := strings.Replace(where, "user=molehill", "user=guest", 1)
	if err := statements(t, where, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	const advice = "may not use or make the tables"
	l := open(t, guest)
	_, err := l.Reserve(t.Context(), gaussian("a", 1))
	wantError(t, err, advice, "nothing was recorded")
	mustCreate(t, open(t, where), ten)
	_, err = l.Reserve(t.Context(), gaussian("a", 1))
	wantError(t, err, advice, "nothing was recorded")
	_, err = l.Status(t.Context(), "rows")
	wantError(t, err, advice, "nothing was read")
}

// A ledger is named in messages and in what is kept of runs, where its password must not be.
func TestPasswordsAreNotTold(t *testing.T) {
	t.Setenv("PGPASSWORD", "")
	for _, where := range []string{"postgres://team:hush1234@127.0.0.1:1/budgets", "postgres://127.0.0.1:1/budgets?user=team&password=hush1234", "postgres://team:hush1234@127.0.0.1:1/budgets?search_path=team"} {
		t.Setenv(Variable, where)
		place, err := Place()
		if err != nil || !strings.Contains(place, "/budgets") {
			t.Errorf("%q, %v", place, err)
		}
		l := open(t, where)
		_, refused := l.Reserve(t.Context(), gaussian("a", 1))
		_, unread := l.Status(t.Context())
		wantError(t, refused, "nothing was recorded", "127.0.0.1")
		wantError(t, unread, "nothing was read")
		_, faulty := Open(strings.Replace(where, ":1/", ":none/", 1))
		wantError(t, faulty, "expected an address such as")
		for _, said := range []string{place, l.String(), fmt.Sprint(refused), fmt.Sprint(unread), fmt.Sprint(faulty)} {
			if strings.Contains(said, "hush") {
				t.Errorf("it tells the password: %s", said)
			}
		}
	}
}

// Where a connection is lost at the commit, before the server has it or after, the error
// says that nobody knows, and the same reservation again is paid once.
func TestAConnectionLostAtTheCommit(t *testing.T) {
	for _, kept := range []bool{false, true} {
		where := newDatabase(t)
		mustCreate(t, open(t, where), ten)
		var cut atomic.Bool
		l := open(t, cutting(t, where, &cut, kept))
		cut.Store(true)
		_, err := l.Reserve(t.Context(), gaussian("a", 20))
		wantError(t, err, "whether the entry was recorded is not known", "pays once")
		recorded := 0
		if kept {
			recorded = 1
		}
		if s := status(t, open(t, where)); s.Runs != recorded {
			t.Errorf("commit kept %v: %d runs, want %d", kept, s.Runs, recorded)
		}
		cut.Store(false)
		mustReserve(t, l, gaussian("a", 20))
		if s := status(t, l); s.Runs != 1 {
			t.Errorf("commit kept %v: %d runs after the same again, want 1", kept, s.Runs)
		}
	}
}

// cutting is an address that leads to the same server, but cuts the connection of a client
// that commits: before the server has heard of it, or after, when it is kept.
func cutting(t *testing.T, where string, cut *atomic.Bool, kept bool) string {
	t.Helper()
	address, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	const socket = ".s.PGSQL.5432"
	server := filepath.Join(query.Get("host"), socket)
	dir, err := os.MkdirTemp("", "cut") // a test's own folder is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close(); os.RemoveAll(dir) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", server)
			if err != nil {
				client.Close()
				return
			}
			var deaf atomic.Bool
			go func() {
				_, _ = io.Copy(writer(func(b []byte) (int, error) {
					if deaf.Load() {
						client.Close()
						return len(b), nil // the server ends what it has begun
					}
					return client.Write(b)
				}), to)
				client.Close()
			}()
			go func() {
				_, _ = io.Copy(writer(func(b []byte) (int, error) {
					if cut.Load() && bytes.Contains(b, []byte("commit\x00")) {
						if !kept {
							client.Close()
							return 0, net.ErrClosed
						}
						deaf.Store(true)
					}
					return to.Write(b)
				}), client)
				to.Close()
			}()
		}
	}()
	query.Set("host", dir)
	address.RawQuery = query.Encode()
	return address.String()
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
