package here

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// digits is how many hexadecimal digits of a digest name a version: 48 bits.
const digits = 12

// digest tells the code and the fields of an experiment from others: a change of
// what it computes is another digest. It covers the declarations of the home
// package that the experiment reaches, with those of plug-ins that the home
// package has registered beside it, and the init functions. Code of other
// packages it knows by their types only: they have versions of their own.
//
// Where the source cannot be read, or a value holds what cannot be seen (a function
// literal, a hidden field of another package's type), the digest is that of the
// program, which changes with every change of any cell: too often. What is put into
// variables when it runs is not seen.
func digest(e any, home place) string {
	h := sha256.New()
	v := &values{home: home.path, to: h, roots: map[string]bool{"init": true}}
	v.walk(e)
	for _, kind := range plugin.Catalogue() {
		for _, entry := range kind.Plugins {
			_, run := entry.Plugin.(experiment.Here) // before, by the same cell
			if entry.Origin.Package == home.path && !run {
				v.walk(entry.Plugin)
			}
		}
	}
	if err := code(h, home.dir, v.roots); err != nil || v.opaque {
		h.Reset()
		program(h)
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// program writes this program's file.
func program(to io.Writer) {
	name, err := os.Executable()
	if err != nil {
		return
	}
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.Copy(to, f) // half of it still tells it from most others
}

// code writes the tokens of the declarations of the package in dir that roots
// need, by name, without comments and layout.
func code(to io.Writer, dir string, roots map[string]bool) error {
	p, err := parsed(dir)
	if err != nil {
		return err
	}
	reached := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		if reached[name] || p.declared[name] == nil && p.imported[name] == "" {
			return
		}
		reached[name] = true
		for _, node := range p.declared[name] {
			ast.Inspect(node, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					reach(id.Name) // by its name alone: too much at times, never too little
				}
				return true
			})
		}
	}
	for name := range roots {
		if name != "init" && p.declared[name] == nil {
			return fmt.Errorf("%s does not declare %s", dir, name)
		}
		reach(name)
	}
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		fmt.Fprintf(to, "%s %s\n", name, p.imported[name])
		for _, node := range p.declared[name] {
			p.tokens(to, node)
		}
	}
	return nil
}

// source is a parsed package.
type source struct {
	files    *token.FileSet
	text     map[string][]byte // of files
	declared map[string][]ast.Node
	imported map[string]string // path by the name that it goes by
}

// parsed parses the package in dir, which tests may extend.
func parsed(dir string) (*source, error) {
	p := &source{token.NewFileSet(), map[string][]byte{}, map[string][]ast.Node{}, map[string]string{}}
	names, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no source in %s: %w", dir, err)
	}
	for _, name := range names {
		name = filepath.Join(dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.text[name] = text
		p.add(file)
	}
	return p, nil
}

func (p *source) add(file *ast.File) {
	declare := func(name string, node ast.Node) { p.declared[name] = append(p.declared[name], node) }
	for _, imported := range file.Imports {
		name, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			continue
		}
		as := path.Base(name)
		if imported.Name != nil {
			as = imported.Name.Name
		}
		p.imported[as] = name
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declare(d.Name.Name, d)
			} else if of := receiver(d.Recv.List[0].Type); of != "" {
				declare(of, d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					declare(spec.Name.Name, spec)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						declare(name.Name, d) // whole: iota counts its lines
					}
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return ""
}

// tokens writes the tokens of a node. A semicolon or comma before a closing
// bracket is layout.
func (p *source) tokens(to io.Writer, node ast.Node) {
	from, end := p.files.Position(node.Pos()), p.files.Position(node.End())
	text := p.text[from.Filename][from.Offset:end.Offset]
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	separator := ""
	for {
		_, t, literal := s.Scan()
		switch t {
		case token.EOF:
			return
		case token.SEMICOLON, token.COMMA:
			separator = t.String() + "\n"
			continue
		case token.RBRACE, token.RPAREN, token.RBRACK:
			separator = ""
		}
		fmt.Fprintf(to, "%s%v %s\n", separator, t, literal)
		separator = ""
	}
}
