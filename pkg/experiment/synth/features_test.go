package synth

import (
	"encoding/json"
	"fmt"
	"molehill/pkg/dataset/table"
	"testing"
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
