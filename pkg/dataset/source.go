package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"molehill/pkg/plugin"
)

// Source is a data set that can be loaded by name.
type Source interface {
	plugin.Plugin
	// Public tells whether the rows are public by construction, so that using
	// them costs no privacy.
	Public() bool
	// Load returns the rows. It must return the same ones for the same
	// options, everywhere.
	Load(ctx context.Context, o Options) (*Splits, error)
}

// Options say which rows of a data set to load, and from where.
type Options struct {
	// Dir is the folder that has the data set's folder. "" searches the usual
	// places; see NotFoundError.
	Dir string
	// Seed generates what is generated, and draws N rows from what is not.
	Seed uint64
	// N is the number of rows for training, 0 for all there are, or for the
	// usual number where they are generated. Rows for testing are always
	// whole, so that the measures of different runs compare.
	N int
	// Label names what labels the rows of a Labelled data set: an attribute of
	// celeba, such as "Smiling". "" gives rows without labels there.
	Label string
	// Progress, if not nil, is told of work that takes more than two seconds,
	// from one goroutine at a time.
	Progress func(what string, done, total int)
}

// patience is how long work has to take before Options.Progress is told of it.
const patience = 2 * time.Second

// tell returns a function that tells Progress how many of total are done, once
// the work has taken the patience, and not too often then. It is nil if nobody
// wants to know.
func (o Options) tell(what string, total int, patience time.Duration) func(done int) {
	if o.Progress == nil {
		return nil
	}
	next, told := time.Now().Add(patience), false
	return func(done int) {
		if now := time.Now(); now.After(next) || told && done == total {
			next, told = now.Add(200*time.Millisecond), true
			o.Progress(what, done, total)
		}
	}
}

// Labelled is a source whose labels are chosen by Options.Label.
type Labelled interface{ Labelled() }

// Pictured is a source of images, which is named to who needs some.
type Pictured interface{ Pictures() }

// Restricted is a source with terms that those who see its rows, or pictures
// made from them, have to know.
type Restricted interface{ Restriction() string }

// ByHand is a source with files that no program may fetch.
type ByHand interface {
	Source
	// Where returns the folder in which Load finds the files for Options.Dir,
	// or a *NotFoundError.
	Where(dir string) (string, error)
	// Obtain says how to get the files and where to put them.
	Obtain() string
}

// Registry has every source by its name.
var Registry = plugin.Registry[Source]{Kind: kind, Defaults: func(s Source) (map[string]any, error) {
	return map[string]any{plugin.NoPreset: map[string]bool{"public": s.Public()}}, nil
}}

const kind = "data set"

// Load loads a registered data set and checks what it gets, whoever made it: an
// error names it.
func Load(ctx context.Context, name string, o Options) (*Splits, error) {
	source, err := Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	if _, ok := source.(Labelled); !ok && o.Label != "" {
		return nil, fmt.Errorf("data set %q: expected no choice of labels, as it has one set of them or none, found Label %q; leave it empty", name, o.Label)
	}
	var splits *Splits
	err = plugin.Guard(kind, name, "Load", func() error {
		splits, err = source.Load(ctx, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := splits.Check(); err != nil {
		return nil, fmt.Errorf("loading the data set %q: %w", name, err)
	}
	return splits, nil
}

// generated returns how many rows a generated data set makes for N, with a
// limit that keeps a slip of the finger out of memory.
func generated(name string, n, usual int) (int, error) {
	const most = 1_000_000
	switch {
	case n == 0:
		return usual, nil
	case n < 0 || n > most:
		return 0, fmt.Errorf("data set %q: expected N from 1 to %d rows (0 for %d), found %d; change N", name, most, usual, n)
	}
	return n, nil
}

// Pinned is a source whose rows are fixed by its version: by checksums of its
// files, or by the program that draws them.
type Pinned interface{ Pinned() }

// Digester is a source that can tell its rows from others faster than Digest,
// which loads them.
type Digester interface {
	Digest(ctx context.Context, o Options) (string, error)
}

// Digest tells the rows of a data set from others of the same name: "" for a
// source that is Pinned, else a SHA-256 of what it loads. check, which may be nil, may
// refuse that: where a digest is asked for, the keeper of the rows reads why, and a run's
// errors are read by others too. Those that tell a digest without loading are not checked.
func Digest(ctx context.Context, name string, o Options, check func(*Splits) error) (string, error) {
	source, err := Registry.Lookup(name)
	if err != nil {
		return "", err
	}
	if _, pinned := source.(Pinned); pinned {
		return "", nil
	}
	if digester, ok := source.(Digester); ok {
		var digest string
		err := plugin.Guard(kind, name, "Digest", func() error {
			digest, err = digester.Digest(ctx, o)
			return err
		})
		return digest, err
	}
	splits, err := Load(ctx, name, o)
	if err != nil {
		return "", err
	}
	if check != nil {
		checked := *splits
		if err := check(&checked); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	for _, d := range []*Dataset{splits.Train, splits.Test} {
		fmt.Fprintf(h, "%d×%d×%d×%d ", d.Len(), d.Height, d.Width, d.Channels)
		if err := binary.Write(h, binary.LittleEndian, d.X); err != nil {
			return "", err
		}
		if d.Labels != nil { // a set without them is told from others as it always was
			fmt.Fprintf(h, " %d of %q", d.Labels, d.Classes)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Register makes a data set of your own known by name, with a line of summary
// and a function that loads it. Its rows are taken to be private.
func Register(name, summary string, load func(context.Context, Options) (*Splits, error)) {
	info := plugin.Info{Name: name, Summary: summary, Version: "1"}
	Registry.Register(function{info, load})
}

// function is a Source made of a function.
type function struct {
	info plugin.Info
	load func(context.Context, Options) (*Splits, error)
}

func (f function) Describe() plugin.Info { return f.info }
func (f function) Public() bool          { return false }
func (f function) Load(ctx context.Context, o Options) (*Splits, error) {
	return f.load(ctx, o)
}
