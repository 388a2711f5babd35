package ledger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"molehill/privacy"
)

// statements executes SQL as a forger with all rights would: by hand, in
// another connection.
func statements(t *testing.T, where string, all ...string) error {
	t.Helper()
	l := open(t, where)
	for _, statement := range all {
		if _, err := l.store.DB.ExecContext(t.Context(), statement); err != nil {
			return err
		}
	}
	return nil
}

// unbuckle drops the triggers.
func unbuckle(where string) []string {
	triggers := map[string]string{"molehill_ledger_kept": "entry", "molehill_ledger_head_kept": "head", "molehill_ledger_head_forward": "head"}
	if !strings.Contains(where, "://") {
		triggers["molehill_ledger_unchanged"], triggers["molehill_ledger_appended"] = "entry", "entry"
	}
	var all []string
	for trigger, table := range triggers {
		if strings.Contains(where, "://") {
			trigger += " ON molehill_ledger_" + table
		}
		all = append(all, "DROP TRIGGER "+trigger)
	}
	return all
}

// history makes a ledger of five entries.
func history(t *testing.T, where string) *Ledger {
	t.Helper()
	l := open(t, where)
	mustCreate(t, l, ten)
	mustReserve(t, l, gaussian("a", 5))
	if _, err := l.Commit(t.Context(), "rows", "a"); err != nil {
		t.Fatal(err)
	}
	mustReserve(t, l, gaussian("b", 6))
	mustReserve(t, l, gaussian("c", 7))
	return l
}

func TestSQLByHandIsRefused(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		history(t, where)
		refused := []string{
			"UPDATE molehill_ledger_entry SET body = '{}' WHERE seq = 2",
			"DELETE FROM molehill_ledger_entry WHERE seq = 5",
			"DELETE FROM molehill_ledger_head",
			"UPDATE molehill_ledger_head SET seq = 4",
			"UPDATE molehill_ledger_head SET hash = ''",
		}
		if strings.Contains(where, "://") {
			refused = append(refused, "TRUNCATE molehill_ledger_entry", "TRUNCATE molehill_ledger_head", "INSERT INTO molehill_ledger_head VALUES (2, 1, 0, '')")
		} else {
			refused = append(refused, "INSERT OR REPLACE INTO molehill_ledger_entry VALUES (5, '{}', '')", "INSERT INTO molehill_ledger_entry VALUES (99, '{}', '')")
		}
		for _, statement := range refused {
			if err := statements(t, where, statement); err == nil {
				t.Errorf("%s: done", statement)
			}
		}
		sound(t, open(t, where))
	})
}

func TestTamperingIsFound(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		head := sound(t, history(t, where)).Head
		if err := statements(t, where, unbuckle(where)...); err != nil {
			t.Fatal(err)
		}
		restore := func(table string) []string {
			return []string{"DELETE FROM " + table, "INSERT INTO " + table + " SELECT * FROM copy_of_" + table}
		}
		for _, table := range []string{"molehill_ledger_entry", "molehill_ledger_head"} {
			if err := statements(t, where, fmt.Sprintf("CREATE TABLE copy_of_%s AS SELECT * FROM %[1]s", table)); err != nil {
				t.Fatal(err)
			}
		}
		forged := link("", "{}")
		for name, c := range map[string]struct {
			forge []string
			want  string
			known bool // found only by who kept the head
		}{
			"edited":          {[]string{"UPDATE molehill_ledger_entry SET body = replace(body, '5', '50') WHERE seq = 2"}, "was changed", false},
			"edited, a space": {[]string{"UPDATE molehill_ledger_entry SET body = body || ' ' WHERE seq = 5"}, "was changed", false},
			"another hash":    {[]string{"UPDATE molehill_ledger_entry SET hash = '" + forged + "' WHERE seq = 3"}, "was changed", false},
			"removed":         {[]string{"DELETE FROM molehill_ledger_entry WHERE seq = 2"}, "entries between them were removed", false},
			"the first":       {[]string{"DELETE FROM molehill_ledger_entry WHERE seq = 1"}, "it follows entry 0", false},
			"removed, closed": {[]string{"DELETE FROM molehill_ledger_entry WHERE seq = 2", "UPDATE molehill_ledger_entry SET seq = 2 WHERE seq = 3"}, "its hash is not", false},
			"swapped":         {[]string{"UPDATE molehill_ledger_entry SET seq = 99 WHERE seq = 4", "UPDATE molehill_ledger_entry SET seq = 4 WHERE seq = 5", "UPDATE molehill_ledger_entry SET seq = 5 WHERE seq = 99"}, "moved", false},
			"inserted":        {[]string{"INSERT INTO molehill_ledger_entry VALUES (6, '{}', '" + forged + "')"}, "inserted", false},
			"before all":      {[]string{"INSERT INTO molehill_ledger_entry VALUES (0, '{}', '" + forged + "')"}, "was inserted", false},
			"tail cut off":    {[]string{"DELETE FROM molehill_ledger_entry WHERE seq = 5"}, "at the end were removed", false},
			"all gone":        {[]string{"DELETE FROM molehill_ledger_entry"}, "at the end were removed", false},
			"head gone":       {[]string{"DELETE FROM molehill_ledger_head"}, "the head is gone", false},
			"head's number":   {[]string{"UPDATE molehill_ledger_head SET seq = 4"}, "its head is kept as entry 4", false},
			"head's hash":     {[]string{"UPDATE molehill_ledger_head SET hash = '" + forged + "'"}, "its head is kept as entry 5", false},
			"tail and head": {[]string{"DELETE FROM molehill_ledger_entry WHERE seq = 5",
				"UPDATE molehill_ledger_head SET seq = 4, hash = (SELECT hash FROM molehill_ledger_entry WHERE seq = 4)"}, "replaced by an older copy", true},
			"all and head": {[]string{"DELETE FROM molehill_ledger_entry", "UPDATE molehill_ledger_head SET seq = 0, hash = ''"}, "replaced by an older copy", true},
		} {
			t.Run(name, func(t *testing.T) {
				if err := statements(t, where, c.forge...); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := statements(t, where, append(restore("molehill_ledger_entry"), restore("molehill_ledger_head")...)...); err != nil {
						t.Fatal(err)
					}
				}()
				l := open(t, where)
				known := &head
				if !c.known {
					known = nil
				}
				report, err := l.Verify(t.Context(), known)
				if err != nil {
					t.Fatal(err)
				}
				if text := fmt.Sprint(report.Problems); !strings.Contains(text, c.want) {
					t.Errorf("verify found %s, want %q", text, c.want)
				}
				if c.known || name == "before all" { // a reader looks for entries from 1 on
					return
				}
				var tampered *TamperedError
				if _, err := l.Reserve(t.Context(), gaussian("d", 9)); !errors.As(err, &tampered) {
					t.Errorf("a reservation on top of it: %v", err)
				}
				if _, err := l.Status(t.Context()); !errors.As(err, &tampered) {
					t.Errorf("its status: %v", err)
				}
			})
		}
		if report, err := open(t, where).Verify(t.Context(), &head); err != nil || len(report.Problems) > 0 {
			t.Errorf("the restored ledger: %v, %+v", err, report)
		}
	})
}

// Entries whose hashes are right, and which Reserve and Create would have refused, are
// found too: more than the budget, what does not compose with it, and a second budget.
func TestOverspendingIsFound(t *testing.T) {
	much, err := gaussian("d", 0.1).entry()
	if err != nil {
		t.Fatal(err)
	}
	other := much
	other.Relation = privacy.AddRemove
	more := ten
	more.Epsilon = 1000
	for what, c := range map[string]struct {
		forged Entry
		want   string
		shown  bool // what is spent can be told all the same
	}{
		"more than the budget": {much, "is spent", true},
		"another relation":     {other, "do not compose", false},
		"a second budget":      {Entry{Kind: Declared, Dataset: "rows", Budget: &more}, "a second one, of rows", false},
	} {
		t.Run(what, func(t *testing.T) {
			where := filepath.Join(t.TempDir(), "ledger.db")
			l := history(t, where)
			before := sound(t, l).Head
			e := c.forged
			e.Seq, e.Time = before.Seq+1, time.Now().UTC()
			body, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.store.Write(t.Context(), func(tx *sql.Tx) error {
				return l.store.insert(t.Context(), tx, e.Seq, string(body), link(before.Hash, string(body)))
			}); err != nil {
				t.Fatal(err)
			}
			report, err := open(t, where).Verify(t.Context(), &before)
			if text := fmt.Sprint(report.Problems); err != nil || !strings.Contains(text, c.want) {
				t.Errorf("verify found %s, %v; want %q", text, err, c.want)
			}
			if _, err := open(t, where).Reserve(t.Context(), gaussian("e", 1000)); err == nil {
				t.Error("reserved on top of it")
			}
			all, err := open(t, where).Status(t.Context(), "rows")
			if c.shown && (err != nil || !(float64(all[0].Spent) > ten.Epsilon)) {
				t.Errorf("%+v, %v; want more spent than there is", all, err)
			} else if !c.shown {
				wantError(t, err, c.want)
			}
		})
	}
}

// A process that has read the ledger before notices that it went back.
func TestAReaderNoticesWhatChangedBehindIt(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		l := history(t, where)
		forge := append(unbuckle(where), "DELETE FROM molehill_ledger_entry WHERE seq = 5",
			"UPDATE molehill_ledger_head SET seq = 4, hash = (SELECT hash FROM molehill_ledger_entry WHERE seq = 4)")
		if err := statements(t, where, forge...); err != nil {
			t.Fatal(err)
		}
		_, err := l.Reserve(t.Context(), gaussian("d", 9))
		wantError(t, err, "tampered")
	})
}

func TestHeadsAreReadBack(t *testing.T) {
	for _, h := range []Head{{}, {12, link("", "x")}} {
		if got, err := ParseHead(h.String()); err != nil || got != h {
			t.Errorf("%v is read as %v, %v", h, got, err)
		}
	}
	for _, text := range []string{"", "12", "12:ab", ":" + link("", ""), "-1:", "0:" + link("", "")} {
		if _, err := ParseHead(text); err == nil {
			t.Errorf("%q is read as a head", text)
		}
	}
}
