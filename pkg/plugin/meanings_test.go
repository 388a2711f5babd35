package plugin

import (
	"maps"
	"testing"
	"testing/fstest"
)

func TestMeaningsAreTheCommentsOfFields(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got := Meanings(fstest.MapFS{"a.go": file(`package p

type Config struct {
	Steps int ` + "`json:\"steps\"`" + ` // K, steps
	// Noise is σ, in units
	// of Δ (Eq. 5). None is 0.
	Noise float64 ` + "`json:\"noise,omitempty\"`" + `
	// Published takes the paper's noise.
	Published bool ` + "`json:\"published\"`" + `
	Inputs string ` + "`json:\"inputs\"`" + ` // digests of rows; see Pin
	Silent bool ` + "`json:\"silent\"`" + `
	hidden int // nobody sets it
}`), "b.go": file("no Go at all"), "c.go": file(`package q

type C struct {
	// Others are of another file.
	Others int ` + "`json:\"others\"`" + `
}`)})
	want := map[string]string{
		"steps": "K, steps", "noise": "σ, in units of Δ (Eq. 5)", "published": "takes the paper's noise", "others": "of another file", "inputs": "digests of rows",
	}
	if !maps.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
