package lessons

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/pkg/kernel"
)

func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// lesson is a notebook with a heading, two paragraphs and two pictures, the
// second 1×1 and red.
const lesson = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "go"}}, "cells": [
 {"cell_type": "markdown", "metadata": {}, "source": ["# 3 · Heaps: of <sand>\n", "\n", "First **one**. Then\n", "another.\n", "\n", "More."]},
 {"cell_type": "code", "metadata": {}, "source": "x", "execution_count": 1, "outputs": [
  {"output_type": "display_data", "metadata": {}, "data": {"image/png": "bm90IGEgcGljdHVyZQ==", "text/plain": "The first"}},
  {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "text/plain": "The second, in red"}}]}]}`

func TestCards(t *testing.T) {
	folder := folderOf(t, map[string]string{
		"03_heaps.ipynb": lesson,
		"index.ipynb":    "not read",
		CardsFile:        `{"03_heaps.ipynb": {"time": "1 minute", "picture": "The second"}}`,
	})
	cards, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(cards) != 1 {
		t.Fatalf("%d cards, expected one", len(cards))
	}
	c := cards[0]
	if c.Title != "3 · Heaps" || c.Subtitle != "of <sand>" || c.What != "First one." || c.Time != "1 minute" {
		t.Errorf("%+v", c)
	}
	if c.Picture == nil || c.Picture.Heading != "The second, in red" {
		t.Errorf("picture %+v", c.Picture)
	}
	if err := os.MkdirAll(filepath.Join(folder, Pictures), 0o755); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, Pictures, "02_gone.png")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again is the same
		if err := Write(folder); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the picture of a card that is gone is still there")
	}
	page, err := kernel.ReadNotebook(filepath.Join(folder, kernel.Index))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, cell := range page.Cells {
		if cell.Type != "markdown" {
			t.Errorf("a %s cell: a page that nobody trusts shows text only", cell.Type)
		}
		text.WriteString(string(cell.Source))
	}
	for _, want := range []string{`<a href="03_heaps.ipynb"><img src="cards/03_heaps.png"`, "of &lt;sand&gt;", "1 minute", "First one."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, &text)
		}
	}
	if string(page.Metadata["language_info"]) == "" {
		t.Error("no language_info: JupyterLab would add it and ask whether to save")
	}
	data, err := os.ReadFile(filepath.Join(folder, Pictures, "03_heaps.png"))
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(data))
	if err != nil || small.Bounds() != image.Rect(0, 0, thumbnailWidth, thumbnailHeight) {
		t.Fatalf("%v, %v", small.Bounds(), err)
	}
	if r, g, b, _ := small.At(thumbnailWidth/2, thumbnailHeight/2).RGBA(); r>>8 < 0xf0 || g>>8 > 0x90 || b>>8 > 0x90 {
		t.Errorf("the middle is %d, %d, %d, expected the picture's half-transparent red on white", r>>8, g>>8, b>>8)
	}
}

func TestCardsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no notebook of that name": {map[string]string{"a.ipynb": lesson, CardsFile: `{"b.ipynb": {}}`}, "b.ipynb"},
		"no such picture":          {map[string]string{"a.ipynb": lesson, CardsFile: `{"a.ipynb": {"picture": "The third"}}`}, "The third"},
		"misspelt":                 {map[string]string{"a.ipynb": lesson, CardsFile: `{"a.ipynb": {"pictures": ""}}`}, "pictures"},
		"cut":                      {map[string]string{"a.ipynb": lesson[:200]}, "a.ipynb"},
		"broken picture":           {map[string]string{"a.ipynb": lesson}, "the picture of a.ipynb"},
		"none":                     {nil, "no notebook"},
	} {
		folder := folderOf(t, c.files)
		if err := Write(folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(folder, kernel.Index)); err == nil {
			t.Errorf("%s: a page was written", name)
		}
	}
}

func TestThumbnail(t *testing.T) {
	tall := image.NewGray(image.Rect(0, 0, 100, 1000))
	for y := range 1000 {
		for x := range 100 {
			tall.SetGray(x, y, color.Gray{uint8(255 - y/4)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, tall); err != nil {
		t.Fatal(err)
	}
	small, err := thumbnail(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	// Of a tall picture the top is kept: its last row is that at 300/4800 of it.
	if v, _, _, _ := picture.At(240, thumbnailHeight-1).RGBA(); v>>8 < 235 || v>>8 > 243 {
		t.Errorf("the last row is %d, expected about 240", v>>8)
	}
	// A header that promises 2³¹ dots a side is refused before they are made.
	huge := bytes.Clone(b.Bytes())
	copy(huge[16:], []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff})
	if _, err := thumbnail(huge); err == nil {
		t.Error("a header of 2³¹ × 2³¹ passes")
	}
}

// The page in this repository is that of its lessons.
func TestPageIsUpToDate(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "notebooks")
	cards, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Page(cards)
	if err != nil {
		t.Fatal(err)
	}
	have, err := kernel.ReadNotebook(filepath.Join(folder, kernel.Index))
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range want.Cells {
		if i >= len(have.Cells) || have.Cells[i].Source != cell.Source {
			t.Fatalf("notebooks/%s is out of date at cell %d; `go run . notebooks --index` writes it", kernel.Index, i+1)
		}
	}
	for _, cell := range want.Cells {
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(cell.Source), -1) {
			if _, err := os.Stat(filepath.Join(folder, link[1])); err != nil {
				t.Errorf("a link of the page leads nowhere: %v", err)
			}
		}
	}
	for _, c := range cards {
		if c.Picture == nil || c.What == "" || c.Time == "" {
			t.Errorf("the card of %s lacks a picture, what happens or its time; say them in notebooks/%s", c.File, CardsFile)
		}
		if _, err := os.Stat(filepath.Join(folder, c.picture())); err != nil {
			t.Errorf("%v; `go run . notebooks --index` writes it", err)
		}
	}
}
