package images

import (
	"archive/zip"
	"bytes"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

func TestARunLeavesImagesAReportAndAnEntryOfTheLedger(t *testing.T) {
	data, schema := spots(t, 300, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2", "images", "123")), 0)
	experimenttest.Unnamed(t, r, data, schema)
	made, err := Made(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Check(); err != nil || made.Len() != 123 || len(made.Classes) != 2 {
		t.Errorf("%d images of %q, %v", made.Len(), made.Classes, err)
	}
	for _, format := range Formats {
		s, err := pictures.ReadSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(t.TempDir(), "exported"+format)
		var b bytes.Buffer
		if err := errors.Join(Export(t.Context(), r, &b, format), os.WriteFile(at, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		if left := experimenttest.Read(t, r, "synthetic.zip"); format == ".zip" && !bytes.Equal(left, b.Bytes()) {
			t.Error("the run has left other images than it exports")
		}
		if format == ".zip" {
			archive, err := zip.OpenReader(at)
			if err != nil {
				t.Fatal(err)
			}
			at = filepath.Join(t.TempDir(), "made")
			if err := os.CopyFS(at, archive); err != nil {
				t.Fatal(err)
			}
			if err := archive.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s.Images.White = 255 // in archives that are written
		source, err := pictures.Open(at, s)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]int, 2)
		faults, err := pictures.Each(t.Context(), source, s.Images.Dim(), 64, func(first int, images []float32, classes []int) error {
			for _, c := range classes {
				seen[c]++
			}
			if format == ".npz" { // in the order in which they were made
				rounded := func(v, made float32) bool { return math.Abs(float64(v-made)) < 0.51/255 }
				if at := first * made.Dim(); !slices.Equal(classes, made.Labels[first:first+len(classes)]) || !slices.EqualFunc(images, made.X[at:at+len(images)], rounded) {
					t.Errorf("images from %d on are others in the archive than Made returns", first)
				}
			}
			return nil
		})
		if err != nil || faults != nil || seen[0]+seen[1] != 123 || seen[0] < 40 || seen[1] < 40 {
			t.Errorf("%s has %v images of each class, %v, %v", format, seen, faults, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		statement, err := r.Statement()
		if err != nil || !(statement.Epsilon() <= 2 && statement.Epsilon() >= 1.99) || statement.Steps != 1 || statement.Research || statement.Relation != privacy.ReplaceOne.String() {
			t.Errorf("%+v, %v", statement, err)
		}
		for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html"} {
			text := string(experimenttest.Read(t, r, name))
			for _, want := range []string{"ε, δ) = (2, 1e-06)", "spots", "one image is replaced", "cosine transform", "left", "how long it took"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s does not say %q", name, want)
				}
			}
		}
		if _, err := png.Decode(bytes.NewReader(experimenttest.Read(t, r, SheetFile))); err != nil {
			t.Error(err)
		}
		where, err := ledger.Default()
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(where)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := l.History(t.Context(), "own/spots")
		if err != nil || len(entries.Entries) != 2 {
			t.Errorf("the ledger has %+v, want a reservation and its end; %v", entries, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A run that is stopped after its release goes on with the same one.
func TestAStoppedRunReleasesTheSame(t *testing.T) {
	data, schema := spots(t, 60, nil)
	experimenttest.ReleasesTheSame(t, request(data, schema, "1"), experiment.ReleaseFile)
}

// Images without classes, and one class, which is as good as none.
func TestWithoutClasses(t *testing.T) {
	for classes, layout := range map[string]string{"": "00001.png", `, "classes": {"names": ["left"], "public": true}`: "left/00001.png"} {
		data, schema := spots(t, 40, nil)
		if classes == "" {
			data = filepath.Join(data, "left")
		}
		text := schemaText[:strings.Index(schemaText, `, "classes"`)] + classes + "}"
		if err := os.WriteFile(schema, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
		text = string(experimenttest.Read(t, r, "synthetic.zip"))
		if !strings.Contains(text, layout) {
			t.Errorf("no %s was written", layout)
		}
		if made, err := Made(t.Context(), r); err != nil || made.Check() != nil || (made.Labels == nil) != (classes == "") {
			t.Error(made, err)
		}
		if d, err := Diagnose(t.Context(), r, ""); err != nil || d.On != "" {
			t.Error(d, err)
		}
	}
}

// Some of the records, evenly spaced, are encoded as they are among all of them.
func TestSomeRecordsAreEncoded(t *testing.T) {
	data, path := spots(t, 23, nil)
	schema, err := pictures.ReadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := pictures.Open(data, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	with := newCosines(schema.Images.Shape, 9)
	all, err := encode(t.Context(), source, schema, with, 100, func(int, int) {})
	if err != nil || all.points.Len() != 23 || len(all.rows) != 23 {
		t.Fatal(all.rows, err)
	}
	for _, most := range []int{1, 7, 22} {
		some, err := encode(t.Context(), source, schema, with, most, func(int, int) {})
		if err != nil || some.points.Len() != most || len(some.labels) != 23 {
			t.Fatalf("%d points, %d labels, %v", some.points.Len(), len(some.labels), err)
		}
		for k, i := range some.rows {
			if !slices.Equal(some.points.Row(k), all.points.Row(i)) {
				t.Errorf("of %d, point %d is not that of record %d", most, k, i)
			}
		}
	}
}
