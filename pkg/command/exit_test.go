package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Only Main ends the process: everything that the command line stands on returns its errors,
// which the command line prints. What is for notebook cells, which have nobody to return an
// error to, ends them and shows things below them: it is no part of a command.
func TestOnlyMainExits(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles", "molehill/pkg/command").Output()
	if err != nil {
		t.Fatal(err)
	}
	const main = "molehill/pkg/command"
	seen := map[string]bool{}
	for packages := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.ImportPath, "molehill/") {
			continue
		}
		seen[p.ImportPath] = true
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			for _, call := range callsOf(t, path) {
				switch call {
				case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "viz.Show":
					if p.ImportPath != main || name != "command.go" {
						t.Errorf("%s calls %s; it is expected to return an error", path, call)
					}
				}
			}
		}
	}
	for path, want := range map[string]bool{main: true, "molehill/pkg/compare": true, "molehill/pkg/follow": true, "molehill/pkg/lab": false} {
		if seen[path] != want {
			t.Errorf("the command line stands on %s: %v, want %v", path, seen[path], want)
		}
	}
}

// callsOf returns what a file calls of packages, "os.Exit" for example.
func callsOf(t *testing.T, path string) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok {
				calls = append(calls, of.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return calls
}
