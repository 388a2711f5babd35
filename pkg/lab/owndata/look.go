package owndata

import (
	"errors"
	"io"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/dataset/table"
	"molehill/viz"
)

// First is the first rows, up to so many, of the table in a file.
func First(path, title string, rows int) (viz.Table, error) {
	source, err := table.Open(path, "")
	if err != nil {
		return viz.Table{}, err
	}
	t := viz.Table{Title: title, Header: source.Header()}
	for range rows {
		var values []string
		if values, err = source.Read(); err != nil {
			break
		}
		var cells []any
		for _, v := range values {
			cells = append(cells, v)
		}
		t.Add(cells...)
	}
	if errors.Is(err, io.EOF) { // a short table
		err = nil
	}
	return t, errors.Join(err, source.Close())
}

// Columns lists what the schema of a table says.
func Columns(s *table.Schema, title string) viz.Table {
	t := viz.Table{Title: title, Header: []string{"column", "what the schema says", "public"}}
	for _, c := range s.Columns {
		t.Add(c.Name, c.Describe(), yes(c.Public))
	}
	return t
}

// Parts lists what the schema of images says.
func Parts(s *pictures.Schema, title string) viz.Table {
	t := viz.Table{Title: title, Header: []string{"part", "what the schema says", "public"}}
	for _, p := range s.Parts() {
		t.Add(p.Name, p.Says, yes(p.Public))
	}
	return t
}

func yes(public bool) string {
	if public {
		return "yes"
	}
	return "no"
}
