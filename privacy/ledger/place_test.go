package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlacesThatAreNone(t *testing.T) {
	for want, where := range map[string]string{
		"found nothing":                 "",
		"mysql:// is no place":          "mysql://host/db",
		"expected an address such":      "postgres://host:port/db",
		"is no file, which a ledger is": t.TempDir(),
		"/null is no file":              os.DevNull,
	} {
		_, err := Open(where)
		wantError(t, err, want)
	}
	dir := t.TempDir()
	dangling := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "nothing"), dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dangling).Status(t.Context(), "rows"); err == nil || !strings.Contains(err.Error(), "a link to one") {
		t.Errorf("a link to nothing is read as a ledger: %v", err)
	}
	for want, where := range map[string]string{
		"it cannot be opened":     dangling,
		"it cannot be made there": filepath.Join("/proc", "none", "ledger.db"),
		"is the server running":   "postgres:///x?host=" + dir,
	} {
		_, err := open(t, where).Reserve(t.Context(), gaussian("a", 1))
		wantError(t, err, want, "nothing was recorded")
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if l, err := Open("ledger.db"); err == nil {
		t.Errorf("%q is a ledger in a folder that was removed", l)
	}
}

// Looking makes nothing, and what is made is for its owner only.
func TestTheFileIsMadeWhenItIsNeeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "ledger.db")
	l := open(t, path)
	if s := status(t, l); s.Runs != 0 || s.Budget != nil {
		t.Errorf("%+v", s)
	}
	if _, err := l.Verify(t.Context(), nil); err == nil {
		t.Error("a ledger that is not there was verified")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("looking made a file")
	}
	mustReserve(t, l, gaussian("a", 1))
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// One address is one ledger, also for users whose schemas come first by the server's
// default.
func TestAllUsersOfAServerShareOneLedger(t *testing.T) {
	where := newDatabase(t)
	if err := statements(t, where, `CREATE SCHEMA molehill`); err != nil { // called as the tests' user
		t.Fatal(err)
	}
	l := open(t, where)
	mustCreate(t, l, ten)
	var schema string
	if err := l.store.DB.QueryRowContext(t.Context(), "SELECT schemaname FROM pg_tables WHERE tablename = 'molehill_ledger_head'").Scan(&schema); err != nil || schema != "public" {
		t.Errorf("the tables are in the schema %q, %v; want public", schema, err)
	}
	// One that lies elsewhere is not passed over for an empty one.
	hidden := newDatabase(t)
	if err := statements(t, hidden, `CREATE SCHEMA team`); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, open(t, inSchema(hidden, "team")), ten)
	_, err := open(t, hidden).Reserve(t.Context(), gaussian("a", 1))
	wantError(t, err, `one in "team"`, "?search_path=team", "nothing was changed")
	_, err = open(t, hidden).Status(t.Context())
	wantError(t, err, "?search_path=team")
	if s := status(t, open(t, inSchema(hidden, "team"))); s.Budget == nil {
		t.Error("the ledger in the schema that was chosen is not found")
	}
	other := open(t, inSchema(where, "molehill"))
	if s := status(t, other); s.Budget != nil || other.String() == l.String() {
		t.Errorf("%+v, %v; want a ledger of its own that is called otherwise", s, other)
	}
}

// inSchema is an address that chooses a schema.
func inSchema(where, schema string) string {
	if strings.Contains(where, "?") {
		return where + "&search_path=" + schema
	}
	return where + "?search_path=" + schema
}

func TestDefaultPlace(t *testing.T) {
	t.Setenv(Variable, "")
	t.Setenv("HOME", "/home/mole")
	t.Setenv("XDG_DATA_HOME", "relative")
	if where, err := Default(); err != nil || where != "/home/mole/.local/share/molehill/ledger.db" {
		t.Errorf("%s, %v", where, err)
	}
	t.Setenv("XDG_DATA_HOME", "/data")
	if where, err := Default(); err != nil || where != "/data/molehill/ledger.db" {
		t.Errorf("%s, %v", where, err)
	}
	t.Setenv(Variable, "ledger.db")
	_, err := Default()
	wantError(t, err, "another file in each folder", "begins with a slash")
	t.Setenv(Variable, "postgres://team/budgets")
	if where, err := Default(); err != nil || where != "postgres://team/budgets" {
		t.Errorf("%s, %v", where, err)
	}
}
