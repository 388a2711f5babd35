package tables

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"molehill/pkg/dataset/table"
)

func TestFeaturesOfKnownRows(t *testing.T) {
	var s table.Schema
	if err := json.Unmarshal([]byte(schemaText), &s); err != nil {
		t.Fatal(err)
	}
	rows := &table.Table{Schema: &s, Columns: s.Modelled(), Codes: [][]table.Code{{51, 0, 1}, {3, 0, 1}, {1, 1, 1}, {2, 1, 0}}}
	d, err := Features(rows)
	if err != nil {
		t.Fatal(err)
	}
	place := float32(0.5 / 256)
	want := []float32{0.5, 0, 0, 0, 0, 1, place, 0, 0, 1, 1, 0, 0, 0, place, 0}
	if fmt.Sprint(d.X) != fmt.Sprint(want) || fmt.Sprint(d.Labels) != "[1 0]" {
		t.Errorf("features %v with labels %v, want %v with [1 0]", d.X, d.Labels, want)
	}
	s.Target = ""
	if _, err := Features(rows); err == nil {
		t.Error("rows without a target have features")
	}
}

// Of a table of any size classifiers see so many rows that they fit into memory, and
// only these are encoded.
func TestFeaturesFitIntoMemory(t *testing.T) {
	const rows = 400_000
	s := &table.Schema{Name: "x", Target: "rich", Columns: []table.Column{{Name: "zip", Kind: table.Categorical}, {Name: "rich", Kind: table.Categorical, Values: []string{"no", "yes"}}}}
	for i := range 60 {
		s.Columns[0].Values = append(s.Columns[0].Values, fmt.Sprint(i))
	}
	large := &table.Table{Schema: s, Columns: s.Modelled(), Codes: make([][]table.Code, 2)}
	for i := range rows {
		large.Codes[0], large.Codes[1] = append(large.Codes[0], table.Code(1+i%60)), append(large.Codes[1], table.Code(i%3))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := labelled(large, "rows")
	runtime.ReadMemStats(&after)
	if err != nil || d.Len() != learnedRows {
		t.Fatal(d.Len(), err)
	}
	if took, whole := after.TotalAlloc-before.TotalAlloc, uint64(rows*61*4); took > whole/2 {
		t.Errorf("it took %d MB, all rows are %d MB", took>>20, whole>>20)
	}
}
