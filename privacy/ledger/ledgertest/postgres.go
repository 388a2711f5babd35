// Package ledgertest starts PostgreSQL servers for tests of the ledger.
package ledgertest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// Server is a private PostgreSQL server, on a socket in a folder of its own.
type Server struct {
	dir        string
	bin        string // folder of initdb, pg_ctl, postgres
	credential *syscall.Credential
	databases  atomic.Int64 // made so far
}

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("no initdb on the PATH or in /usr/lib/postgresql")

// Start starts a server. It returns [ErrMissing] where there is none to start.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // a test's own folder is too long for a socket's path
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.credential, err = nobody(); err == nil {
			err = os.Chown(dir, int(s.credential.Uid), int(s.credential.Gid))
		}
	}
	if err == nil {
		err = s.run("initdb", "-D", s.data(), "-U", "molehill", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	}
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Postgres starts a server that goes with the test, or skips the test where
// PostgreSQL is not installed.
func Postgres(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	Skip(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Skip skips the test if err is [ErrMissing], and fails it for any other.
func Skip(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing):
		t.Skipf("WITHOUT PostgreSQL (%v): the ledger on a server was not tested", err)
	case err != nil:
		t.Fatal(err)
	}
}

// Database returns the address of a new, empty database.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	db, err := sql.Open("pgx", s.DSN())
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE DATABASE "+name)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.address(name)
}

// DSN is the server's address.
func (s *Server) DSN() string { return s.address("postgres") }

func (s *Server) address(database string) string {
	query := url.Values{"host": {s.dir}, "user": {"molehill"}}
	return "postgres:///" + database + "?" + query.Encode()
}

// Restart starts a server that was killed.
func (s *Server) Restart() error {
	options := fmt.Sprintf("-k %s -c listen_addresses='' -c max_connections=50 -c shared_buffers=16MB", s.dir)
	return s.run("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-l", filepath.Join(s.dir, "log"), "-o", options, "start")
}

// Kill ends all of the server's processes at once, without a goodbye to anybody.
func (s *Server) Kill() error {
	return s.run("pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop")
}

// Stop ends the server, if it runs, and removes all it holds.
func (s *Server) Stop() error {
	err := s.Kill()
	if _, running := os.Stat(filepath.Join(s.data(), "postmaster.pid")); running != nil {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(program string, arguments ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, program), arguments...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	cmd.WaitDelay = time.Second // the server keeps what pg_ctl printed to open
	output := filepath.Join(s.dir, program+".txt")
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(output)
		return fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return nil
}

// programs returns the folder of the newest PostgreSQL here.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// nobody is a user without rights.
func nobody() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
