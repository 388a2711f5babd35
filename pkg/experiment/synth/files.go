// Package synth makes synthetic data of people's own: private records go in through
// private releases, and others of the same layout come out. Package tables does so with
// tables, package images with images; here is what both have in common.
//
// The schema fixes everything that turns a record into numbers, and is public; so is
// the number of records. A method plans its releases, one or many, before the first of
// them, and what they cost is paid then; the rest is post-processing.
package synth

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"molehill/pkg/run"
)

// Files say where private data and their schema are. A run's settings name them by
// their content alone (Keyed): a copy elsewhere is the same run, and costs nothing. Where
// that content was seen last stands beside the runs, for their owner only.
type Files struct {
	Data   string `json:"data"`   // file or folder of the private data
	Schema string `json:"schema"` // file of their schema
}

// Hash tells the content of data and their schema from any other, by two hashes under a
// key of this store that only its owner can read. A plain hash would be an answer, with
// certainty, to whoever knows all records but one and tries what the last may be; and the
// names of runs, which are made of it, stand in reports.
func Hash(data, schema []byte) (string, error) {
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	first, err := store.Keyed(data)
	if err != nil {
		return "", err
	}
	second, err := store.Keyed(schema)
	return first + between + second, err
}

// between stands between the two hashes of Hash.
const between = "-"

// SameData reports whether two of Hash are of the same data, under whatever schema.
func SameData(a, b string) bool {
	first, _, known := strings.Cut(a, between)
	return known && strings.HasPrefix(b, first+between)
}

// Remember writes down where the content with such a hash is, and forgets it in f.
func (f *Files) Remember(hash string) error {
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	for _, place := range []*string{&f.Data, &f.Schema} {
		if *place, err = filepath.Abs(*place); err != nil { // runs compute in another folder
			return err
		}
	}
	if err := store.Remember(hash, f); err != nil {
		return err
	}
	*f = Files{}
	return nil
}

// Recall finds what Remember has written down. Without a hash, which settings have from
// Pin on, f says itself where they are.
func (f *Files) Recall(hash string) error {
	if hash == "" || f.Data != "" {
		return nil
	}
	store, err := run.DefaultStore()
	if err != nil {
		return err
	}
	if err := store.Recall(hash, f); err != nil {
		return fmt.Errorf("where the data of this run are: %w; if runs were moved, move .inputs and .inputs.key of their folder, too; else ask for the run again, with the same data and schema: without .inputs.key that is another run, which pays again", err)
	}
	return nil
}

// Settled returns an error about the schema of a run with such a hash, "" before it has
// one. A schema was whole and confirmed when the run was asked for, so that it is another
// one now, a draft of the rows perhaps, and nothing of what it says may be in an error that
// the run keeps.
func Settled(hash string, err error) error {
	if err == nil || hash == "" {
		return err
	}
	return errors.New("the schema of this run has changed since it was asked for, or this program cannot read it; `molehill schema check` tells its keeper more; ask again, for another run")
}

// Unnamed returns an error that does not say where the data and their schema are, nor what
// is called how in them: a run keeps its error where others can read it.
func (f Files) Unnamed(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if at, ok := errors.AsType[*fs.PathError](err); ok && at.Path != "" && at.Path != f.Schema && at.Path != f.Data {
		said = strings.ReplaceAll(said, at.Path, "a file of the data")
	}
	for _, place := range [][2]string{{f.Schema, "the schema"}, {f.Data, "the data"}} { // DATA.schema.json before DATA
		if place[0] != "" {
			said = strings.ReplaceAll(said, place[0], place[1])
		}
	}
	return &unnamed{said, err}
}

type unnamed struct {
	said  string
	error // of which nothing is said
}

func (u *unnamed) Error() string { return u.said }
func (u *unnamed) Unwrap() error { return u.error }
