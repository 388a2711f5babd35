package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

var errFault = errors.New("a fault")

// memory is a store in memory, whose tables are looked for as looks say, one after another.
func memory(t *testing.T, looks ...any) Store {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each would have a memory of its own
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return Store{
		DB: db, Where: "memory", Once: "CREATE TABLE once (x)", Make: []string{"CREATE TABLE one (x)", "CREATE TABLE two (x)"},
		Made: func(context.Context, *sql.Tx) (bool, error) {
			look := looks[0]
			looks = looks[1:]
			err, _ := look.(error)
			return look == true, err
		},
		Missing: func() bool { return false },
		Advise:  func(error) string { return "do something" },
		Refused: func(error) bool { return false },
	}
}

// tables are those in a store in memory.
func tables(t *testing.T, s Store) (names []string) {
	t.Helper()
	rows, err := s.DB.QueryContext(t.Context(), "SELECT name FROM sqlite_master ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// Tables are made by who finds none, also after keeping others from making them. Where that
// fails nothing is left of it, nothing is written, and the error says so.
func TestTablesAreMadeOnce(t *testing.T) {
	for name, c := range map[string]struct {
		looks  []any
		change func(*Store)
		want   []string // tables, with the one that is written; nil for an error
	}{
		"there":            {[]any{true}, nil, []string{"written"}},
		"none":             {[]any{false, false}, nil, []string{"once", "one", "two", "written"}},
		"made meanwhile":   {[]any{false, true}, nil, []string{"once", "written"}},
		"the first look":   {[]any{errFault}, nil, nil},
		"the second look":  {[]any{false, errFault}, nil, nil},
		"at the beginning": {[]any{true}, func(s *Store) { s.Begun = "nonsense" }, nil},
		"others":           {[]any{false, false}, func(s *Store) { s.Once = "nonsense" }, nil},
		"the making":       {[]any{false, false}, func(s *Store) { s.Make[0] = "nonsense" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory(t, c.looks...)
			if c.change != nil {
				c.change(&s)
			}
			err := s.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.ExecContext(t.Context(), "CREATE TABLE written (x)")
				return err
			})
			if got := tables(t, s); !slices.Equal(got, c.want) {
				t.Errorf("tables %q, want %q", got, c.want)
			}
			if (err == nil) != (c.want != nil) || err != nil && !strings.HasSuffix(err.Error(), "; nothing was recorded (do something)") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// What is missing is made before it is written to, and is not there for readers.
func TestWhatIsMissingIsMadeByWriters(t *testing.T) {
	s := memory(t, true)
	missing := true
	s.Missing = func() bool { return missing }
	s.Create = func() error { return errFault }
	nobody := func(*sql.Tx) error { t.Error("called of nothing"); return nil }
	if err := s.Write(t.Context(), nobody); !errors.Is(err, errFault) || !strings.Contains(err.Error(), notWritten) {
		t.Errorf("what cannot be made is written: %v", err)
	}
	if found, err := s.Read(t.Context(), nobody); found || err != nil {
		t.Errorf("what is missing is read: %v, %v", found, err)
	}
	s.Create = func() error { missing = false; return nil }
	if err := s.Write(t.Context(), func(*sql.Tx) error { return nil }); err != nil || missing {
		t.Errorf("missing %v, %v", missing, err)
	}
}

// An error says what became of the entry: nothing, but for one of the commit that the
// database may have made all the same.
func TestErrorsSayWhatBecameOfTheEntry(t *testing.T) {
	fails := func(context.CancelFunc) error { return errFault }
	atTheCommit := func(cancel context.CancelFunc) error { cancel(); return nil }
	for name, c := range map[string]struct {
		advice  string
		refused bool // a commit that fails
		write   func(context.CancelFunc) error
		want    string // of where it happened; "" for the error as it is
	}{
		"in between":                {"do something", false, fails, notWritten + " (do something)"},
		"not of the database":       {"", false, fails, ""},
		"at the commit":             {"do something", false, atTheCommit, unknown + " (do something)"},
		"at the commit, unexpected": {"", false, atTheCommit, unknown},
		"at the commit, refused":    {"do something", true, atTheCommit, notWritten + " (do something)"},
		"at the beginning":          {"do something", false, nil, notWritten + " (do something)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory(t, true)
			s.Advise = func(error) string { return c.advice }
			s.Refused = func(err error) bool { return c.refused && err != nil }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.write == nil {
				cancel()
			}
			err := s.Write(ctx, func(*sql.Tx) error { return c.write(cancel) })
			if told := fmt.Sprint(err); c.want == "" && err != errFault || c.want != "" && !(strings.HasPrefix(told, "ledger: memory: ") && strings.HasSuffix(told, "; "+c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Who reads is called of one state where there is one, and told of an error that nothing
// was read.
func TestReadersAreToldWhatIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		look   any
		change func(*Store)
		read   error // of what is called; nil also where it must not be
		called bool
		fails  bool
	}{
		"there":              {true, nil, nil, true, false},
		"no tables":          {false, nil, nil, false, false},
		"the look":           {errFault, nil, nil, false, true},
		"at the beginning":   {true, func(s *Store) { s.Begun = "nonsense" }, nil, false, true},
		"what is read there": {true, nil, errFault, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, called := memory(t, c.look), false
			if c.change != nil {
				c.change(&s)
			}
			found, err := s.Read(t.Context(), func(*sql.Tx) error { called = true; return c.read })
			if called != c.called || !c.fails && found != c.called {
				t.Errorf("found %v, called %v; want %v", found, called, c.called)
			}
			if (err != nil) != c.fails || err != nil && !strings.HasSuffix(err.Error(), "; nothing was read (do something)") {
				t.Errorf("error %v", err)
			}
			if got := tables(t, s); len(got) > 0 {
				t.Errorf("reading made %q", got)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memory(t, true).Read(ended, nil); err == nil || !strings.Contains(err.Error(), "nothing was read") {
		t.Errorf("cancelled before it begins: %v", err)
	}
}
