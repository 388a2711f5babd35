package store

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

func TestOpenAsksForAStoreThatIsMissing(t *testing.T) {
	_, err := Open("sqlite", "/ledger.db")
	missing := (*MissingError)(nil)
	if !errors.As(err, &missing) || missing.Kind != "sqlite" {
		t.Fatalf("got %v, want a MissingError of sqlite", err)
	}
	for _, want := range []string{`import _ "molehill/privacy/ledger/sqlite"`, "nothing was read or recorded"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestOpenGivesTheAddressToTheStore(t *testing.T) {
	t.Cleanup(func() { delete(opened, "paper") })
	Register("paper", func(where string) (Store, error) { return Store{DB: new(sql.DB), Where: where}, nil })
	s, err := Open("paper", "under the desk")
	if err != nil || s.Where != "under the desk" {
		t.Errorf("%v, %v", s, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("registering a kind twice is expected to panic")
		}
	}()
	Register("paper", nil)
}
