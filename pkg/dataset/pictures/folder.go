package pictures

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// folder is images in a folder: in subfolders, which are their classes, or in the
// folder itself. Nothing is read that lies elsewhere, whatever links say.
type folder struct {
	schema *Schema
	root   *os.Root
	files  []string // "class/name", or "name", with slashes
	left   []Disagreement
}

// Endings are those of the files that are taken for images.
var Endings = []string{".png", ".jpg", ".jpeg"}

// isPicture reports whether a file's name says that it is an image. Names that begin
// with a point are what computers leave behind.
func isPicture(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains(Endings, strings.ToLower(path.Ext(name)))
}

func openFolder(dir string, schema *Schema) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{schema: schema, root: root}
	if err := f.list(lister(root)); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if deep := func(d Disagreement) bool { return d.What == leftDeep }; len(f.files) == 0 && schema.Classes == nil && slices.ContainsFunc(f.left, deep) {
		return nil, errors.Join(errors.New("no images but in subfolders, and the schema has no classes; draft it again, or give it \"classes\": a name for each subfolder"), root.Close())
	}
	if len(f.files) == 0 {
		return nil, errors.Join(fmt.Errorf("no images; expected files that end in %s, in the folder or in a subfolder for each class", strings.Join(Endings, ", ")), root.Close())
	}
	return f, nil
}

// What lies in a folder and is no record.
const (
	leftFiles  = "files that are no PNG or JPEG by their names"
	leftHidden = "folders whose names begin with a point"
	leftLinks  = "links and other things that are neither files nor folders"
	leftClosed = "folders that cannot be listed"
	leftDeep   = "folders within folders, or beside images without classes"
)

// list finds the records: images in the folder and, if there are classes, in its
// subfolders, no deeper.
func (f *folder) list(entriesOf func(name string) ([]fs.DirEntry, error)) error {
	entries, err := entriesOf(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case !e.IsDir():
			f.file("", e)
		case strings.HasPrefix(e.Name(), "."):
			f.left = note(f.left, leftHidden, e.Name()+"/", notTaken)
		case f.schema.Classes == nil:
			f.left = note(f.left, leftDeep, e.Name()+"/", notTaken)
		default:
			f.class(e.Name(), entriesOf)
		}
	}
	// By name and then by class: of a record that changes its class the place among
	// the others changes little.
	slices.SortFunc(f.files, func(a, b string) int {
		return cmp.Or(cmp.Compare(path.Base(a), path.Base(b)), cmp.Compare(a, b))
	})
	return nil
}

func (f *folder) class(name string, entriesOf func(name string) ([]fs.DirEntry, error)) {
	entries, err := entriesOf(name)
	if err != nil {
		f.left = note(f.left, leftClosed, name+"/", notTaken)
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			f.left = note(f.left, leftDeep, name+"/"+e.Name()+"/", notTaken)
			continue
		}
		f.file(name, e)
	}
}

// lister lists folders below root by name, in order. Names are those of files, which
// need not be UTF-8, as names within an fs.FS must.
func lister(root *os.Root) func(name string) ([]fs.DirEntry, error) {
	return func(name string) ([]fs.DirEntry, error) {
		dir, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		entries, err := dir.ReadDir(-1)
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
		return entries, errors.Join(err, dir.Close())
	}
}

func (f *folder) file(class string, e fs.DirEntry) {
	name := path.Join(class, e.Name())
	switch {
	case !e.Type().IsRegular():
		f.left = note(f.left, leftLinks, name, notTaken)
	case !isPicture(e.Name()):
		f.left = note(f.left, leftFiles, name, notTaken)
	default:
		f.files = append(f.files, name)
	}
}

// Len implements Source.
func (f *folder) Len() int { return len(f.files) }

// Name implements Source.
func (f *folder) Name(i int) string { return f.files[i] }

// Left implements Source.
func (f *folder) Left() []Disagreement { return slices.Clone(f.left) }

// Close implements Source.
func (f *folder) Close() error { return f.root.Close() }

// Picture implements Source.
func (f *folder) Picture(dst []float32, i int) (int, error) {
	class := 0
	if f.schema.Classes != nil {
		if class = slices.Index(f.schema.Classes.Names, strings.TrimSuffix(path.Dir(f.files[i]), "/")); class < 0 {
			fillGrey(dst)
			return 0, errClass
		}
	}
	file, err := f.open(i)
	if err != nil {
		fillGrey(dst)
		return 0, err
	}
	err = f.schema.Images.read(dst, file)
	_ = file.Close() // it was only read
	if err != nil {
		fillGrey(dst)
		return 0, err
	}
	return class, nil
}

func (f *folder) open(i int) (*os.File, error) {
	file, err := f.root.Open(f.files[i])
	if err != nil {
		return nil, errRead
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close() // nothing was read of it
		return nil, errRead
	}
	return file, nil
}

// Sum implements Source.
func (f *folder) Sum(ctx context.Context) ([]byte, error) {
	all := sha256.New()
	for i, name := range f.files {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		one := sha256.New()
		if file, err := f.open(i); err != nil {
			fmt.Fprint(one, "unreadable")
		} else {
			if _, err := io.Copy(one, file); err != nil {
				fmt.Fprint(one, "unreadable")
			}
			_ = file.Close() // it was only read
		}
		fmt.Fprintf(all, "%d %s %x\n", len(name), name, one.Sum(nil))
	}
	return all.Sum(nil), nil
}
