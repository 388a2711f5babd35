package run

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestProcessorName(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"two processors", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.00GHz\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: another\n",
			"Intel(R) Xeon(R) CPU @ 2.00GHz"},
		{"a colon in the name", "model name\t: A: B\n", "A: B"},
		{"one without a name", "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU part\t: 0xd05\n", "ARM 0x41 0xd0c"},
		{"neither", "processor\t: 0\nBogoMIPS\t: 50.00\n", ""},
		{"nothing", "", ""},
	} {
		if got := processorName(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestGraphVersions(t *testing.T) {
	got := graphVersions([]*debug.Module{
		{Path: "github.com/gofrs/flock", Version: "v0.1.0"},
		{Path: "github.com/gomlx/gomlx", Version: "v0.28.2"},
		{Path: "github.com/gomlx/go-xla", Version: "v0.4.1", Replace: &debug.Module{Path: "example.org/fork", Version: "v9.0.0"}},
	})
	want := map[string]string{"github.com/gomlx/gomlx": "v0.28.2", "github.com/gomlx/go-xla": "v9.0.0"}
	if !maps.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
	if got := graphVersions(nil); got != nil {
		t.Errorf("versions %v of no modules, want none, which no file mentions", got)
	}
}

func TestRevision(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit, unchanged, changed := setting("vcs.revision", "6b6b07f"), setting("vcs.modified", "false"), setting("vcs.modified", "true")
	for want, settings := range map[string][]debug.BuildSetting{
		"6b6b07f":         {setting("GOARCH", "amd64"), setting("vcs", "git"), commit, setting("vcs.time", "2026-01-02T03:04:05Z"), unchanged},
		"6b6b07f+changes": {commit, changed},
		"":                {setting("GOARCH", "amd64")},
	} {
		if got := revision(settings); got != want {
			t.Errorf("%v: %q, want %q", settings, got, want)
		}
	}
}

func TestAboutNamesWhatAProgramWasBuiltOf(t *testing.T) {
	p := Provenance{Module: "molehill v1.2.0", Revision: "6b6b07f+changes", Go: "go1.26.8", OS: "linux", Arch: "arm64",
		Versions: map[string]string{"github.com/gomlx/gomlx": "v0.28.2", "github.com/gomlx/go-xla": ""}} // a folder's
	if got, want := p.about(), "molehill v1.2.0\ncommit 6b6b07f+changes\ngo1.26.8 linux/arm64\ngithub.com/gomlx/go-xla\ngithub.com/gomlx/gomlx v0.28.2"; got != want {
		t.Errorf("about:\n%s\nwant\n%s", got, want)
	}
}

// What tells of the machine is no part of what names a run; a run that was written
// before there was a processor's name can be read, and gone on with.
func TestProvenanceIsReadableWithoutNewFields(t *testing.T) {
	r := create(t, Store{Dir: t.TempDir()}, Spec{Experiment: "a"})
	old := `{"format":1,"id":"` + r.ID + `","created":"2026-01-02T03:04:05Z","spec":{"experiment":"a","version":"","preset":"","seed":0,"research":false,"config":{}},
		"provenance":[{"started":"2026-01-02T03:04:05Z","host":"h","os":"linux","arch":"amd64","cores":2,"go":"go1.26","backend":"Go"}]}`
	if err := os.WriteFile(filepath.Join(r.Dir, recordFile), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open(r.Dir)
	ok(t, err)
	reacquire(t, r)
	ok(t, r.ComputedOn("Go", "rows"))
	lives, err := r.Provenance()
	if err != nil || len(lives) != 2 {
		t.Fatalf("%d lives (%v), want the old one and this", len(lives), err)
	}
	if text, err := json.Marshal(lives[0]); err != nil || lives[0].Cores != 2 || strings.Contains(string(text), "cpu") || strings.Contains(string(text), "versions") {
		t.Errorf("the old life is now %s (%v)", text, err)
	}
	text, err := os.ReadFile(processorFile)
	if named := err == nil && strings.Contains(string(text), "model name"); (lives[1].CPU != "") != named {
		t.Errorf("processor %q; %s names one: %v", lives[1].CPU, processorFile, named)
	}
}
