// Package lessons writes the page that JupyterLab opens on: a notebook with the
// lessons as cards, each with its title, what happens, how long it takes and a
// picture. All of it is taken from the notebooks and from cards.json beside
// them.
package lessons

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molehill/pkg/kernel"
)

// CardsFile says, in the folder of the notebooks, what no notebook says of
// itself. Pictures is the folder of the cards' pictures.
const (
	CardsFile = "cards.json"
	Pictures  = "cards"
)

// Card is a lesson as the page shows it.
type Card struct {
	File     string        // its notebook, in the folder of the page
	Title    string        // number and name, "05 · A flow of your own"
	Subtitle string        // what follows the colon of its heading; "" if nothing
	What     string        // what happens, a sentence or two
	Time     string        // on two cores, "1 min"; "" if not said
	Picture  *kernel.Image // nil if it has none

	language json.RawMessage // what the kernel said of its language when it ran
}

// entry is what CardsFile says of a notebook.
type entry struct {
	What    string `json:"what"`    // "": the first sentence after its heading
	Time    string `json:"time"`    // "": not said
	Picture string `json:"picture"` // how the picture's heading begins; "": the first
}

// Notebooks returns the paths of all notebooks of a folder but the page itself, by name of
// file.
func Notebooks(folder string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(folder), "*.ipynb")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		if name != kernel.Index {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	return paths, nil
}

// Read returns the cards of all notebooks of a folder but the page itself, by
// name of file. What CardsFile does not say of one is taken from the notebook.
// An entry for a notebook that is not there, or for a picture that the notebook
// does not have, is an error.
func Read(folder string) ([]Card, error) {
	entries, err := readEntries(filepath.Join(folder, CardsFile))
	if err != nil {
		return nil, err
	}
	paths, err := Notebooks(folder)
	if err != nil {
		return nil, err
	}
	var cards []Card
	for _, path := range paths {
		name := filepath.Base(path)
		nb, err := kernel.ReadNotebook(path)
		if err != nil {
			return nil, err
		}
		card, err := newCard(name, nb, entries[name])
		if err != nil {
			return nil, err
		}
		delete(entries, name)
		cards = append(cards, card)
	}
	for name := range entries {
		return nil, fmt.Errorf("lessons: %s speaks of %s, which is not in %s", CardsFile, name, folder)
	}
	return cards, nil
}

func readEntries(path string) (map[string]entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := map[string]entry{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entries); err != nil {
		return nil, fmt.Errorf(`lessons: %s: %w; expected {"00_start.ipynb": {"what": "…", "time": "1 min", "picture": "…"}}`, path, err)
	}
	return entries, nil
}

// newCard makes the card of a notebook.
func newCard(name string, nb *kernel.Notebook, e entry) (Card, error) {
	c := Card{File: name, What: e.What, Time: e.Time, language: nb.Metadata["language_info"]}
	heading, first := opening(nb)
	if heading == "" {
		heading = strings.TrimSuffix(name, ".ipynb")
	}
	c.Title, c.Subtitle, _ = strings.Cut(heading, ": ")
	if c.What == "" {
		c.What = sentence(first)
	}
	for _, picture := range nb.Images() {
		if picture.MIME == "image/png" && strings.HasPrefix(picture.Heading, e.Picture) {
			c.Picture = &picture
			break
		}
	}
	if c.Picture == nil && e.Picture != "" {
		return c, fmt.Errorf("lessons: %s has no picture whose heading begins with %q, as %s says; execute it, or correct that", name, e.Picture, CardsFile)
	}
	return c, nil
}

// opening returns the first heading of a notebook and the paragraph after it.
func opening(nb *kernel.Notebook) (heading, paragraph string) {
	for _, cell := range nb.Cells {
		if cell.Type != "markdown" {
			continue
		}
		for line := range strings.Lines(string(cell.Source)) {
			line = strings.TrimSpace(line)
			switch {
			case heading == "":
				if text, ok := strings.CutPrefix(line, "# "); ok {
					heading = strings.TrimSpace(text)
				}
			case line != "":
				paragraph += line + " "
			case paragraph != "":
				return heading, strings.TrimSpace(paragraph)
			}
		}
		if heading != "" {
			break
		}
	}
	return heading, strings.TrimSpace(paragraph)
}

// sentence is the first sentence of a text, without Markdown's stars.
func sentence(text string) string {
	text = strings.ReplaceAll(text, "*", "")
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}
