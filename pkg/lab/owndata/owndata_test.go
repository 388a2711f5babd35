package owndata

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset/table"
)

// leave writes a file of somebody's own.
func leave(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// holds fails unless a file has this text.
func holds(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("expected %.60q in %s, found %.60q, %v", want, path, text, err)
	}
}

func TestExamplesAreInTheUsersCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/nowhere")
	t.Setenv("HOME", "/nowhere")
	f, err := Examples()
	if err != nil || !strings.HasPrefix(f.File("people.csv"), "/nowhere/") || filepath.Base(string(f)) != "own-data" {
		t.Errorf("%s, %v", f, err)
	}
}

// What is written is an example for as long as it is as it was written, and is written
// once only.
func TestAnExampleThatIsChangedIsSomebodysOwn(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "made"))
	path := f.File("people.csv")
	if IsExample(path) {
		t.Error("an example before there is any")
	}
	if err := f.write(path, "a\n1\n"); err != nil || !IsExample(path) {
		t.Fatalf("what was written is no example, %v", err)
	}
	leave(t, path, "a\n2\n")
	if IsExample(path) {
		t.Error("what somebody has changed is an example")
	}
	if err := f.write(path, "a\n1\n"); err != nil {
		t.Error(err)
	}
	holds(t, path, "a\n2\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if IsExample(path) {
		t.Error("what is gone is an example")
	}
}

// A table or folder that lies where an example would be, a link that leads nowhere
// included, stays; and outside the folder nothing is written.
func TestWhatIsThereIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	f := Folder(dir)
	data, test := f.File("people.csv"), f.File("others.csv")
	leave(t, data, "age,ill\n31,yes\n")
	if err := os.Symlink(filepath.Join(dir, "target"), test); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "people.csv")
	below := filepath.Join(dir, "below", "people.csv")
	for _, pair := range [][2]string{{data, test}, {elsewhere, below}, {elsewhere, ""}} {
		if err := f.People(pair[0], pair[1]); err != nil {
			t.Error(err)
		}
	}
	holds(t, data, "age,ill\n31,yes\n")
	for _, path := range []string{elsewhere, below, filepath.Join(dir, "target"), markOf(data)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was written, %v", path, err)
		}
	}
}

// The example's rows are of other people than those of a table of one's own.
func TestHeldOutRowsAreOfTheSamePeople(t *testing.T) {
	f := Folder(t.TempDir())
	people, others, mine, mineToo := f.File("people.csv"), f.File("others.csv"), f.File("mine.csv"), f.File("too.csv")
	for _, path := range []string{people, others} {
		if err := f.write(path, path); err != nil {
			t.Fatal(err)
		}
	}
	leave(t, mine, "a\n1\n")
	leave(t, mineToo, "a\n1\n")
	for _, c := range []struct{ test, data, want string }{{others, people, others}, {others, mine, ""}, {mineToo, mine, mineToo}, {mineToo, people, mineToo}, {"", mine, ""}} {
		if got := HeldOut(c.test, c.data); got != c.want {
			t.Errorf("to test %s on %s, found %q, want %q", c.data, c.test, got, c.want)
		}
	}
}

// A draft is written once, and is no schema before somebody has confirmed it, which
// nothing takes back.
func TestASchemaIsConfirmedByPeople(t *testing.T) {
	dir := t.TempDir()
	data, path := filepath.Join(dir, "people.csv"), filepath.Join(dir, "people.schema.json")
	leave(t, data, "age,ill\n"+strings.Repeat("31,yes\n54,no\n77,yes\n", 10))
	draft := func() *table.Schema {
		s, err := table.DraftFile(t.Context(), "people", data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for range 2 {
		if _, err := Confirmed(path, draft(), table.ReadSchema); err == nil || !strings.Contains(err.Error(), "look at the schema in "+path) {
			t.Fatalf("a draft counts as confirmed: %v", err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	confirmed := strings.ReplaceAll(string(text), `"public": false`, `"public": true`)
	leave(t, path, confirmed)
	if s, err := Confirmed(path, draft(), table.ReadSchema); err != nil || s.Confirmed() != nil {
		t.Errorf("a confirmed schema is refused: %v", err)
	}
	holds(t, path, confirmed)
	leave(t, path, "{")
	if _, err := Confirmed(path, draft(), table.ReadSchema); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a schema is read: %v", err)
	}
	holds(t, path, "{")
	if _, err := Confirmed(filepath.Join(dir, "no", "folder.schema.json"), draft(), table.ReadSchema); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %v", err)
	}
}
