package synth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// Remember writes down where the content with such a hash is, and forgets it in f.
func (f *Files) Remember(hash string) error {
	path, err := inputsFile(hash)
	if err != nil {
		return err
	}
	for _, place := range []*string{&f.Data, &f.Schema} {
		if *place, err = filepath.Abs(*place); err != nil { // runs compute in another folder
			return err
		}
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
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
	path, err := inputsFile(hash)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("expected %s to say where the data of this run are, found no such file; ask for the run again, with the same data and schema", path)
	}
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return fmt.Errorf("where the data of this run are: %w; remove %s, and ask for the run again, with the same data and schema", err, path)
	}
	return nil
}

// Unnamed returns an error that does not say where the data and their schema are: a
// run keeps its error where others can read it.
func (f Files) Unnamed(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
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

// inputsFile says where the content with such a hash is.
func inputsFile(hash string) (string, error) {
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	if hash != filepath.Base(hash) {
		return "", fmt.Errorf("inputs %q: expected a hash that the program has made; leave it empty", hash)
	}
	return filepath.Join(store.Dir, ".inputs", hash+".json"), nil
}
