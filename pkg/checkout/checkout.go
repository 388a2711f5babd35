// Package checkout finds the clone of this module that a folder lies in.
package checkout

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"golang.org/x/mod/modfile"
)

// module is this module's path, by which programs import it.
var module = strings.TrimSuffix(reflect.TypeFor[marker]().PkgPath(), "/pkg/checkout")

// marker is a type of this package, which knows its own path: `go mod edit -module` and
// new import paths move all that asks for it.
type marker struct{}

// Root returns the nearest folder at or above dir whose go.mod is this module's.
func Root(dir string) (root string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && modfile.ModulePath(text) == module {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
