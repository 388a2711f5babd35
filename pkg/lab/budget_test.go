package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molehill/viz"
)

func TestBudgetIsDrawnRunByRun(t *testing.T) {
	var h history
	text := `{"dataset":"survey","budget":{"epsilon":4,"delta":1e-5},"entries":[
		{"kind":"budget","epsilon":0},
		{"kind":"reservation","id":"a","epsilon":1.5},{"kind":"commit","id":"a"},
		{"kind":"reservation","id":"b","epsilon":2.25}]}`
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatal(err)
	}
	figure, err := h.figure()
	if err != nil {
		t.Fatal(err)
	}
	line := figure.Lines[0]
	wantX, wantY := []float64{0, 1, 2}, []float64{0, 1.5, 2.25}
	for i := range wantX {
		if line.X[i] != wantX[i] || line.Y[i] != wantY[i] {
			t.Fatalf("the line goes through %v, %v; want %v, %v", line.X, line.Y, wantX, wantY)
		}
	}
	early := `{"dataset":"survey","budget":{"epsilon":6,"delta":1e-5},"entries":[
		{"kind":"budget","epsilon":4},{"kind":"reservation","id":"a","epsilon":5}]}`
	var before history
	if err := json.Unmarshal([]byte(early), &before); err != nil {
		t.Fatal(err)
	}
	if late, err := before.figure(); err != nil || late.Lines[0].Y[0] != 4 || late.Lines[0].Y[1] != 5 {
		t.Errorf("%v, %v; a budget that began with 4 spent begins there", late.Lines, err)
	}
	filtered := `{"dataset":"survey","budget":{"epsilon":3,"delta":1e-5,"order":7.508},"entries":[{"kind":"budget","epsilon":0},
		{"kind":"reservation","id":"a","epsilon":1.7},{"kind":"reservation","id":"b","epsilon":1.9}]}`
	var adaptive history
	if err := json.Unmarshal([]byte(filtered), &adaptive); err != nil {
		t.Fatal(err)
	}
	filter, err := adaptive.figure()
	if err != nil || !strings.Contains(filter.Caption, "filter: of order 7.508") || strings.Contains(figure.Caption, "filter") {
		t.Errorf("%v: the caption of a filter is %q", err, filter.Caption)
	}
	fresh := history{Dataset: "survey", Budget: h.Budget}
	unspent, err := fresh.figure()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]viz.Annotated{"budget": figure, "unspent": unspent, "filter": filter} {
		var png bytes.Buffer
		if err := f.PNG(&png); err != nil || png.Len() < 1000 {
			t.Errorf("%s: a picture of %d bytes, %v", name, png.Len(), err)
		}
		if path := os.Getenv("MOLEHILL_PICTURES"); path != "" { // to look at
			_ = os.WriteFile(path+"/"+name+".png", png.Bytes(), 0o644)
		}
	}
}

func TestNoBudgetIsSaid(t *testing.T) {
	if _, err := (history{Dataset: "survey"}).figure(); err == nil || !strings.Contains(err.Error(), "budget create survey") {
		t.Errorf("error %v, want how to declare one", err)
	}
}
