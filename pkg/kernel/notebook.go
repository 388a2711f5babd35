package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Notebook is what this package reads of a notebook in format 4.
type Notebook struct {
	Cells       []Cell                     `json:"cells"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Format      int                        `json:"nbformat"`
	FormatMinor int                        `json:"nbformat_minor"`
}

// Cell is a piece of text ("markdown") or of program ("code").
type Cell struct {
	ID       string                     `json:"id,omitempty"`
	Type     string                     `json:"cell_type"`
	Source   Lines                      `json:"source"`
	Metadata map[string]json.RawMessage `json:"metadata"`
	Outputs  []Output                   `json:"outputs,omitempty"`
}

// Output is one thing that a cell showed. Which fields are set depends on Type:
// "stream" has Name ("stdout", "stderr") and Text; "display_data" and
// "execute_result" have Data; "error" has the rest.
type Output struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name,omitempty"`
	Text      Lines                      `json:"text,omitempty"`
	Data      map[string]json.RawMessage `json:"data,omitempty"` // by MIME type
	ErrorName string                     `json:"ename,omitempty"`
	Value     string                     `json:"evalue,omitempty"`
	Traceback []string                   `json:"traceback,omitempty"`
}

// Lines is text that a notebook holds as a string or as a list of lines, each
// with its newline.
type Lines string

// UnmarshalJSON joins a list of lines.
func (l *Lines) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var lines []string
		if err := json.Unmarshal(data, &lines); err != nil {
			return err
		}
		*l = Lines(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

// NewNotebook returns a notebook of our kernel with the given code cells.
func NewNotebook(cells ...string) *Notebook {
	spec, _ := json.Marshal(map[string]string{"name": Name, "display_name": DisplayName, "language": "go"}) // strings always marshal
	nb := &Notebook{Metadata: map[string]json.RawMessage{"kernelspec": spec}, Format: 4, FormatMinor: 5}
	for i, source := range cells {
		nb.Cells = append(nb.Cells, Cell{ID: fmt.Sprintf("cell-%d", i), Type: "code", Source: Lines(source)})
	}
	return nb
}

// ReadNotebook reads the notebook in a file.
func ReadNotebook(path string) (*Notebook, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	nb, err := ParseNotebook(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return nb, nil
}

// ParseNotebook reads a notebook's JSON.
func ParseNotebook(data []byte) (*Notebook, error) {
	nb := &Notebook{}
	if err := json.Unmarshal(data, nb); err != nil {
		return nil, fmt.Errorf("this is no notebook: %w; expected the JSON of an .ipynb file", err)
	}
	if nb.Format != 4 {
		return nil, fmt.Errorf("expected a notebook in format 4, found format %d; open it in JupyterLab and save it", nb.Format)
	}
	return nb, nil
}

// ours reports whether the notebook's cells are for our kernel, or for another of
// Go, or do not say. The error says whose they are.
func (nb *Notebook) ours() error {
	var spec struct {
		Name        string `json:"name"`
		DisplayName string `json:"display_name"`
		Language    string `json:"language"`
	}
	raw, told := nb.Metadata["kernelspec"]
	if !told {
		return nil
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return fmt.Errorf("its kernelspec cannot be read: %w; choose Kernel ▸ Change Kernel in JupyterLab and save it", err)
	}
	if spec.Name == Name || spec.Name == "gonb" || spec.Language == "go" || spec.Name == "" {
		return nil
	}
	return fmt.Errorf("it is for the kernel %q (%s), and %q runs Go; if its cells are Go, choose Kernel ▸ Change Kernel in JupyterLab and save it", spec.Name, spec.DisplayName, DisplayName)
}

// Write writes the notebook's cells, without fields that this package does not
// read: it is for notebooks made here, not for changing those of people.
func (nb *Notebook) Write(path string) error {
	type code struct { // format 4 wants these two in every code cell
		Cell
		Outputs        []Output `json:"outputs"`
		ExecutionCount *int     `json:"execution_count"`
	}
	cells := []any{}
	for _, c := range nb.Cells {
		if c.Metadata == nil { // which it wants in every cell
			c.Metadata = map[string]json.RawMessage{}
		}
		if c.Type == "code" {
			cells = append(cells, code{Cell: c, Outputs: append([]Output{}, c.Outputs...)})
		} else {
			cells = append(cells, c)
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"cells": cells, "metadata": nb.Metadata, "nbformat": nb.Format, "nbformat_minor": nb.FormatMinor,
	}, "", " ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'))
}

// Expectation is what a notebook must show once executed. Its author writes it
// into the notebook's metadata, where the tests find it:
//
//	"molehill": {"expect": {"images": 3, "tables": 1, "text": ["epsilon"]}, "max_seconds": 60}
type Expectation struct {
	Images  int           // pictures, at least
	Tables  int           // tables, at least
	Text    []string      // each must be in the output
	Longest time.Duration // for the whole notebook, alone on two cores; 0: no limit
}

// Expectation reads the notebook's metadata. Without any it is empty: the
// notebook must then only run.
func (nb *Notebook) Expectation() (Expectation, error) {
	var metadata struct {
		Expect struct {
			Images int      `json:"images"`
			Tables int      `json:"tables"`
			Text   []string `json:"text"`
		} `json:"expect"`
		MaxSeconds float64 `json:"max_seconds"`
		Generated  string  `json:"generated"` // by what, where nobody wrote the notebook
	}
	if raw, ok := nb.Metadata["molehill"]; ok {
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.DisallowUnknownFields() // a misspelt expectation would expect nothing
		if err := decoder.Decode(&metadata); err != nil {
			return Expectation{}, fmt.Errorf(`the notebook's metadata.molehill: %w; expected {"expect": {"images": 1, "tables": 1, "text": ["..."]}, "max_seconds": 60}`, err)
		}
	}
	return Expectation{
		Images: metadata.Expect.Images, Tables: metadata.Expect.Tables, Text: metadata.Expect.Text,
		Longest: time.Duration(metadata.MaxSeconds * float64(time.Second)),
	}, nil
}

// Check compares what an execution shows with what was expected and returns what
// is missing, a line each.
func (x Expectation) Check(r *Result) (missing []string) {
	if n := len(r.Notebook.Images()); n < x.Images {
		missing = append(missing, fmt.Sprintf("expected %d images or more, found %d", x.Images, n))
	}
	if n := len(r.Notebook.Tables()); n < x.Tables {
		missing = append(missing, fmt.Sprintf("expected %d tables or more, found %d", x.Tables, n))
	}
	text := r.Notebook.Text()
	for _, want := range x.Text {
		if !strings.Contains(text, want) {
			missing = append(missing, fmt.Sprintf("expected the text %q, which no output has", want))
		}
	}
	return missing
}

// Late says by how much an execution took longer than expected, or nothing. It is
// apart from what Check finds, as it tells of the machine as much as of the notebook.
func (x Expectation) Late(r *Result) string {
	if x.Longest == 0 || r.Elapsed <= x.Longest {
		return ""
	}
	return fmt.Sprintf("expected it to end within %v, it took %v", x.Longest, r.Elapsed.Round(100*time.Millisecond))
}
