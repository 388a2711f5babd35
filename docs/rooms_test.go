package docs_test

import (
	"go/build"
	"io/fs"
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
		packages := 0
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
			packages++
			for _, imported := range p.Imports {
				of, ours := strings.CutPrefix(imported, "molehill/")
				if ours && !within(of, room) && !slices.ContainsFunc(allowed, func(a string) bool { return within(of, a) }) {
					t.Errorf("%s imports %s; %s may import of other rooms %q", path, imported, room, allowed)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if packages == 0 {
			t.Errorf("no package in %s: the test does not see them", room)
		}
	}
}

// within reports whether a package is at a path or below it.
func within(of, path string) bool { return of == path || strings.HasPrefix(of, path+"/") }
