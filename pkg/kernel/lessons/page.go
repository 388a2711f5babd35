package lessons

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molehill/pkg/kernel"
)

// Write writes the page and the cards' pictures into the folder of the notebooks,
// and removes pictures of cards that are gone.
func Write(folder string) error {
	cards, err := Read(folder)
	if err != nil {
		return err
	}
	if len(cards) == 0 {
		return fmt.Errorf("lessons: no notebook in %s", folder)
	}
	pictures := filepath.Join(folder, Pictures)
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, c := range cards {
		if c.Picture == nil {
			continue
		}
		small, err := thumbnail(c.Picture.Data)
		if err != nil {
			return fmt.Errorf("lessons: the picture of %s: %w", c.File, err)
		}
		wanted[c.picture()] = true
		if err := os.WriteFile(filepath.Join(folder, c.picture()), small, 0o644); err != nil {
			return err
		}
	}
	old, err := fs.Glob(os.DirFS(pictures), "*.png")
	if err != nil {
		return err
	}
	for _, name := range old {
		if !wanted[filepath.Join(Pictures, name)] {
			err = errors.Join(err, os.Remove(filepath.Join(pictures, name)))
		}
	}
	if err != nil {
		return err
	}
	nb, err := Page(cards)
	if err != nil {
		return err
	}
	return nb.Write(filepath.Join(folder, kernel.Index))
}

// picture is the file of a card's picture, relative to the page.
func (c Card) picture() string {
	return filepath.Join(Pictures, strings.TrimSuffix(c.File, ".ipynb")+".png")
}

// columns is how many cards stand side by side.
const columns = 3

// Page returns the page as a notebook of text. It has neither scripts nor
// outputs, so a notebook that nobody trusts yet shows all of it, and its
// pictures are files beside it, so it needs no network.
func Page(cards []Card) (*kernel.Notebook, error) {
	var rows [][]Card
	for i := 0; i < len(cards); i += columns {
		rows = append(rows, cards[i:min(i+columns, len(cards))])
	}
	nb := kernel.NewNotebook()
	// JupyterLab writes this into a notebook that lacks it, which would then ask
	// to be saved before it is closed.
	for _, c := range cards {
		if c.language != nil {
			nb.Metadata["language_info"] = c.language
			break
		}
	}
	nb.Metadata["molehill"] = json.RawMessage(`{"generated": "by molehill notebooks, from the lessons and cards.json"}`)
	for i, text := range []*template.Template{head, table, foot} {
		var b bytes.Buffer
		if err := text.Execute(&b, rows); err != nil {
			return nil, err
		}
		nb.Cells = append(nb.Cells, kernel.Cell{
			ID: fmt.Sprintf("page-%d", i), Type: "markdown", Source: kernel.Lines(strings.TrimSpace(b.String())),
			Metadata: map[string]json.RawMessage{"editable": json.RawMessage("false")},
		})
	}
	return nb, nil
}

var functions = template.FuncMap{
	"picture": func(c Card) string { return filepath.ToSlash(c.picture()) },
	"width":   func() string { return fmt.Sprintf("%d%%", 100/columns) },
}

func parse(name, text string) *template.Template {
	return template.Must(template.New(name).Funcs(functions).Parse(text))
}

var (
	head = parse("head", `
# Molehill

Private optimal transport in Go notebooks: the mole moves earth where nobody sees it.

**New here?** Open [00 · Start](00_start.ipynb) and choose *Run ▸ Run All Cells*. Each lesson is text, formulas and running code: change a number, press Shift + Enter, see what happens. The pictures that a lesson shows before it runs are those of its last run.
`)
	// A table holds the cards where styles are taken out, too.
	table = parse("table", `
<table style="width:100%">
{{range .}}<tr style="background:none">
{{range .}}<td style="width:{{width}};vertical-align:top;text-align:left;padding:8px 14px 22px 0">
{{if .Picture}}<a href="{{.File}}"><img src="{{picture .}}" alt="{{.Title}}" width="300" style="margin-bottom:8px"></a><br>
{{end}}<a href="{{.File}}"><b>{{.Title}}</b></a>{{with .Subtitle}}: {{.}}{{end}}<br>
{{with .Time}}<i>{{.}}</i> · {{end}}{{.What}}</td>
{{end}}</tr>
{{end}}</table>
`)
	foot = parse("foot", `
Times are on two cores. Where to go from here:

| you want to | read, or type in a terminal (*File ▸ New ▸ Terminal*) |
|---|---|
| use your own table or images | lesson 09, [own data](../docs/own-data.md) |
| see, compare and cancel runs, also of other notebooks | `+"`molehill runs`"+`, [runs](../docs/runs.md) |
| know what is spent | `+"`molehill budget`"+`, [hazards](../docs/hazards.md) |
| add a method, a data set or a metric | `+"`molehill list`"+`, [extending](../docs/extending.md) |
| use a GPU, or a container | [GPU](../docs/gpu.md), [containers](../docs/containers.md) |
| find out why something does not work | `+"`molehill doctor`"+` |
`)
)
