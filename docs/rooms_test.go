package docs_test

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are those whose imports of other rooms are bounded, with what they may import
// (CONTRIBUTING): a path, or all below it.
var rooms = map[string][]string{
	"privacy":   nil,
	"transport": {"privacy"},
	"models":    {"privacy", "transport", "pkg/plugin", "pkg/dataset", "pkg/npy", "pkg/atomicfile"},
	"viz":       {"pkg/atomicfile"},
}

// TestDependenciesPointOneWay reads what the packages of each room import, their tests
// aside, which compare with whatever helps.
func TestDependenciesPointOneWay(t *testing.T) {
	for room, allowed := range rooms {
		for path, imported := range imports(t, room) {
			for _, of := range imported {
				if !within(of, room) && !slices.ContainsFunc(allowed, func(a string) bool { return within(of, a) }) {
					t.Errorf("%s imports molehill/%s; %s may import of other rooms %q", path, of, room, allowed)
				}
			}
		}
	}
}

// TestTheReadmeListsTheRooms looks for the packages right below the rooms whose packages
// the README's table has one by one.
func TestTheReadmeListsTheRooms(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"privacy", "pkg"} {
		inside, err := os.ReadDir(filepath.Join(root, room))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range inside {
			if name := "`" + room + "/" + d.Name() + "`"; d.IsDir() && !strings.Contains(string(readme), name) {
				t.Errorf("README.md has no %s in its table of rooms", name)
			}
		}
	}
}

// others are the experiments that an experiment builds on; what several share is no
// experiment's.
var others = map[string]string{"dpsinkhorn": "privateflow"} // sinkhorn-sketch learns from a flow's release

func TestExperimentsStandAlone(t *testing.T) {
	const of = "pkg/experiment/"
	experiments := []string{"autoencoder", "circle", "dpsinkhorn", "fair", "privateflow", "swae", "synth", "toy"}
	for _, mine := range experiments {
		for path, imported := range imports(t, of+mine) {
			for _, other := range experiments {
				if other != mine && other != others[mine] && slices.ContainsFunc(imported, func(p string) bool { return within(p, of+other) }) {
					t.Errorf("%s imports the experiment %s; move what both need to where neither is", path, other)
				}
			}
		}
	}
}

// imports are what each package of a room imports of this module, tests aside, by the
// package's path.
func imports(t *testing.T, room string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return fs.SkipDir
		}
		p, err := build.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		all[path] = []string{}
		for _, imported := range p.Imports {
			if of, ours := strings.CutPrefix(imported, "molehill/"); ours {
				all[path] = append(all[path], of)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Errorf("no package in %s: the test does not see them", room)
	}
	return all
}

// within reports whether a package is at a path or below it.
func within(of, path string) bool { return of == path || strings.HasPrefix(of, path+"/") }
