package owndata

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"testing"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/dataset/table"
)

func TestFirstRowsAreAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.csv")
	leave(t, path, "age;ill\n31;yes\n54;no\n77;yes\n")
	for rows, want := range map[int][][]any{2: {{"31", "yes"}, {"54", "no"}}, 5: {{"31", "yes"}, {"54", "no"}, {"77", "yes"}}} {
		got, err := First(path, "rows", rows)
		if err != nil || got.Title != "rows" || !reflect.DeepEqual(got.Header, []string{"age", "ill"}) || !reflect.DeepEqual(got.Rows, want) {
			t.Errorf("found %+v, %v", got, err)
		}
	}
	leave(t, path, "age;ill\n31;yes;no\n")
	if _, err := First(path, "rows", 1); err == nil {
		t.Error("a ragged row is shown")
	}
	if _, err := First(path+".gone.csv", "rows", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %v", err)
	}
}

func TestSchemasAreListed(t *testing.T) {
	low, high := 0.0, 120.0
	s := &table.Schema{Name: "people", Columns: []table.Column{{Name: "age", Kind: table.Numeric, Low: &low, High: &high, Public: true}, {Name: "id", Kind: table.Exclude}}}
	if got := Columns(s, "A schema"); got.Title != "A schema" || !reflect.DeepEqual(got.Rows, [][]any{{"age", "numbers from 0 to 120", "yes"}, {"id", s.Columns[1].Describe(), "no"}}) {
		t.Errorf("found %+v", got)
	}
	images := &pictures.Schema{Images: pictures.Images{Shape: pictures.Shape{Height: 2, Width: 3, Channels: 1}, Fit: pictures.Crop, Public: true}, Classes: &pictures.Classes{Names: []string{"a", "b"}}}
	if got := Parts(images, "A schema"); got.Title != "A schema" || !reflect.DeepEqual(got.Rows, [][]any{{"images", "3×2 pixels (width × height), grey; others: crop", "yes"}, {"classes", "2: a, b", "no"}}) {
		t.Errorf("found %+v", got)
	}
}
