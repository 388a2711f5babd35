package kernel

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const shown = `{
 "nbformat": 4, "nbformat_minor": 5,
 "metadata": {"molehill": {"expect": {"images": 4, "tables": 2, "text": ["epsilon 10"]}, "max_seconds": 1.5}},
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": "# Title\n"},
  {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": ["a\n", "b"], "outputs": [
   {"output_type": "stream", "name": "stdout", "text": ["epsilon ", "10\n"]},
   {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGVs\nbG8=\n", "text/plain": "picture"}},
   {"output_type": "display_data", "metadata": {}, "data": {"text/html":
     "<table class='x'><tr><th>a</th><th>b &amp; c</th></tr><tr><td>1<br>2</td><td>&epsilon;</td></tr></table><svg><text>no</text></svg><img src=\"data:image/png;base64,aGVsbG8=\"/>"}},
   {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": ["<svg>", "</svg>"], "application/json": {"k": 1}}},
   {"output_type": "display_data", "metadata": {}, "data": {"text/markdown": "| m | n |\n|---|:-:|\n| 1 | 2 |\n\nend"}},
   {"output_type": "error", "ename": "ERROR", "evalue": "exit status 1", "traceback": ["\u001b[7mred\u001b[0m", "line"]}
  ]}
 ]}`

func TestNotebookOutputs(t *testing.T) {
	nb, err := ParseNotebook([]byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	if nb.Cells[1].Source != "a\nb" {
		t.Errorf("source %q", nb.Cells[1].Source)
	}
	text := nb.Text()
	for _, want := range []string{"epsilon 10\n", "picture", "b & c", "ε", "end"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if strings.Contains(text, "no") || strings.Contains(text, "<") {
		t.Errorf("tags or the inside of a picture in %q", text)
	}
	images := nb.Images()
	var kinds []string
	for _, image := range images {
		kinds = append(kinds, image.MIME)
	}
	if want := []string{"image/png", "image/svg+xml", "image/png", "image/svg+xml"}; !reflect.DeepEqual(kinds, want) {
		t.Fatalf("images %v, expected %v", kinds, want)
	}
	if string(images[0].Data) != "hello" || images[0].Cell != 1 {
		t.Errorf("first image %+v", images[0])
	}
	tables := []Table{
		{1, [][]string{{"a", "b & c"}, {"12", "ε"}}},
		{1, [][]string{{"m", "n"}, {"1", "2"}}},
	}
	if got := nb.Tables(); !reflect.DeepEqual(got, tables) {
		t.Errorf("tables %v, expected %v", got, tables)
	}
	failed := nb.Errors()
	if len(failed) != 1 || failed[0].Error() != "cell 2: exit status 1\nred\nline" {
		t.Errorf("errors %q", failed)
	}
}

func TestExpectation(t *testing.T) {
	nb, err := ParseNotebook([]byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	x, err := nb.Expectation()
	if err != nil {
		t.Fatal(err)
	}
	shows := Result{Notebook: nb, Elapsed: x.Longest}
	if missing, late := x.Check(&shows), x.Late(&shows); len(missing) > 0 || late != "" {
		t.Errorf("all is there in time, but it misses %q and is late by %q", missing, late)
	}
	x.Images, x.Tables, x.Text = 5, 3, append(x.Text, "sigma")
	shows.Elapsed += time.Second
	if missing := x.Check(&shows); len(missing) != 3 {
		t.Errorf("an image, a table and a text are missing, found %q", missing)
	}
	if late := x.Late(&shows); !strings.Contains(late, x.Longest.String()) {
		t.Errorf("it is late by a second, found %q", late)
	}
	if late := (Expectation{}).Late(&shows); late != "" {
		t.Errorf("late without a limit: %q", late)
	}
	nb.Metadata["molehill"] = json.RawMessage(`{"expect": {"image": 1}}`)
	if _, err := nb.Expectation(); err == nil {
		t.Error("a misspelt expectation passes")
	}
}

func TestParseNotebookRefuses(t *testing.T) {
	for _, bad := range []string{"", "[]", `{"nbformat": 3}`, `{"nbformat": 4, "cells": [{"source": 1}]}`} {
		if _, err := ParseNotebook([]byte(bad)); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestWriteAndReadAgain(t *testing.T) {
	nb := NewNotebook("a", "b\nc")
	path := filepath.Join(t.TempDir(), "x.ipynb")
	if err := nb.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadNotebook(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Cells) != 2 || again.Cells[1].Source != "b\nc" || again.Format != 4 {
		t.Errorf("read again: %+v", again)
	}
}

// No notebook, however broken, makes the readers panic.
func FuzzParseNotebook(f *testing.F) {
	f.Add([]byte(shown))
	f.Add([]byte(`{"nbformat": 4, "cells": [{"outputs": [{"data": {"text/html": "<table><td>x<tr></table>", "text/markdown": "|\n|-"}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		nb, err := ParseNotebook(data)
		if err != nil {
			return
		}
		nb.Text()
		nb.Images()
		nb.Tables()
		for _, e := range nb.Errors() {
			_ = e.Error()
		}
		_, _ = nb.Expectation()
	})
}
