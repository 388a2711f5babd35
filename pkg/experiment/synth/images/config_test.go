package images

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

func TestMistakesAreFoundBeforeAnythingIsSpent(t *testing.T) {
	data, schema := spots(t, 10, nil)
	other := func(from, to string) string {
		text := strings.Replace(schemaText, from, to, 1)
		if text == schemaText {
			t.Fatalf("%q is nowhere", from)
		}
		path := filepath.Join(t.TempDir(), "schema.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	like := other(`"fit"`, `"like": "mnist", "fit"`)
	experimenttest.Refused(t, map[string]experiment.Request{
		"nobody has said yet":      request(data, other(`"crop", "public": true`, `"crop", "public": false`), "1"),
		"classes: 2: left, right":  request(data, other(`"right"], "public": true`, `"right"], "public": false`), "1"),
		"no such file":             request(data+"x", schema, "1"),
		"drafts one":               request(data, schema+"x", "1"),
		"ε = 0":                    request(data, schema, "0"),
		"δ = 2":                    request(data, schema, "1", "delta", "2"),
		"steps is -1":              request(data, schema, "1", "steps", "-1"),
		"coefficients is 76":       request(data, schema, "1", "coefficients", "76"),
		"step_size is 3":           request(data, schema, "1", "step_size", "3"),
		"at most 3000":             request(data, schema, "1", "coefficients", "75", "degree", "3"),
		"does not say what":        request(data, schema, "1", "code", "autoencoder"),
		"did you mean":             request(data, schema, "1", "code", "autoencoder/minst"),
		"no model ships":           request(data, other(`"fit"`, `"like": "cats", "fit"`), "1"),
		"up to 32×32":              request(data, other(`"height": 8, "width": 10, "channels": 1, "fit"`, `"height": 8, "width": 40, "channels": 1, "like": "mnist", "fit"`), "1"),
		"with 1 channels":          request(data, other(`"channels": 1, "fit"`, `"channels": 3, "like": "mnist", "fit"`), "1"),
		"give both":                request("", schema, "1"),
		"can be handled":           request(data, like, "1", "degree", "12"),
		"expected a folder of PNG": request(schema, schema, "1"),
		"label_scale is 2, which the method harmonic-sketch": request(data, schema, "1", "label_scale", "2"),
		"degree is 2, which the method dp-sinkhorn":          request(data, schema, "1", "method", "dp-sinkhorn", "degree", "2"),
	})
}

// The name of a run, which stands in its report, must not let anybody try images: in
// another store the same files have another one.
func TestInputsAreHashedUnderASecret(t *testing.T) {
	data, schema := spots(t, 6, nil)
	id := func() string { return experimenttest.ID(t, request(data, schema, "1")) }
	first := id()
	if id() != first {
		t.Error("the same files are another run")
	}
	writeSpots(t, data, 6, 2, nil)
	if id() == first {
		t.Error("other files are the same run")
	}
	writeSpots(t, data, 6, 1, nil)
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	if id() == first {
		t.Error("the files have the same hash in another store")
	}
}

func TestFilesThatChangedAreAnotherRun(t *testing.T) {
	data, schema := spots(t, 20, nil)
	r := experimenttest.Acquired(t, request(data, schema, "1"))
	writeSpots(t, data, 20, 2, nil)
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
}

// A schema that is another one by the time a run begins may be an unconfirmed draft:
// nothing of what it says stays with the run, nor what files are called.
func TestARunDoesNotTellOfASchemaThatChanged(t *testing.T) {
	for _, change := range [][2]string{{`"public": true`, `"public": false`}, {`"left"`, `"kuru", "kuru", "left"`}, {`{`, `{"kuru": 1,`}} {
		data, schema := spots(t, 20, nil)
		r := experimenttest.Acquired(t, request(data, schema, "1"))
		text := strings.Replace(schemaText, change[0], change[1], 1)
		if text == schemaText {
			t.Fatalf("no %s in the schema", change[0])
		}
		if err := os.WriteFile(schema, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has changed") || strings.Contains(err.Error(), "kuru") {
			t.Error(err)
		}
		experimenttest.Unnamed(t, r, data, schema, "kuru", "left")
	}
	files := synth.Files{Data: "/d"}
	if err := files.Unnamed(fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "kuru/anna.png", Err: fs.ErrPermission})); strings.Contains(err.Error(), "anna") || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
