package images

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/npy"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

const schemaText = `{"name": "spots", "images": {"height": 8, "width": 10, "channels": 1, "fit": "crop", "public": true}, "classes": {"names": ["left", "right"], "public": true}}`

// spot draws a bright spot in one half, by class.
func spot(class int, rng *rand.Rand) []byte {
	img := image.NewGray(image.Rect(0, 0, 10, 8))
	at := image.Pt(2+5*class, 2+rng.IntN(4))
	for y := range 8 {
		for x := range 10 {
			d := float64((x-at.X)*(x-at.X) + (y-at.Y)*(y-at.Y))
			img.Pix[y*img.Stride+x] = byte(20 + 200*math.Exp(-d/4) + 20*rng.Float64())
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// spots writes a folder of images and its schema, in a place of their own for runs
// and ledger. change may change the files.
func spots(t *testing.T, n int, change func(files map[string][]byte)) (data, schema string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv("MOLEHILL_LEDGER", filepath.Join(dir, "ledger.db"))
	data, schema = filepath.Join(dir, "spots"), filepath.Join(dir, "spots.schema.json")
	writeSpots(t, data, n, 1, change)
	if err := os.WriteFile(schema, []byte(schemaText), 0o600); err != nil {
		t.Fatal(err)
	}
	return data, schema
}

func writeSpots(t *testing.T, dir string, n int, seed uint64, change func(files map[string][]byte)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	files := map[string][]byte{}
	for i := range n {
		class := i % 2
		files[fmt.Sprintf("%s/%04d.png", []string{"left", "right"}[class], i)] = spot(class, rng)
	}
	if change != nil {
		change(files)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func request(data, schema, epsilon string, more ...string) experiment.Request {
	q := experiment.Request{Experiment: Name, Seed: 1, Settings: map[string]string{
		"data": data, "schema": schema, "epsilon": epsilon, "coefficients": "17", "steps": "10"}}
	for i := 0; i < len(more); i += 2 {
		q.Settings[more[i]] = more[i+1]
	}
	return q
}

func released64(t *testing.T, r *run.Run) []float64 {
	t.Helper()
	_, values, err := npy.ReadOf[float64](experimenttest.Read(t, r, releaseFile))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestARunLeavesImagesAReportAndAnEntryOfTheLedger(t *testing.T) {
	for _, format := range Formats {
		data, schema := spots(t, 300, nil)
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2", "format", format, "images", "123")), 0)
		s, err := pictures.ReadSchema(schema)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(r.Dir, "artefacts", "synthetic"+format)
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
		faults, err := pictures.Each(t.Context(), source, s.Images.Dim(), 64, func(_ int, _ []float32, classes []int) error {
			for _, c := range classes {
				seen[c]++
			}
			return nil
		})
		if err != nil || faults != nil || seen[0]+seen[1] != 123 || seen[0] < 40 || seen[1] < 40 {
			t.Errorf("%s has %v images of each class, %v, %v", format, seen, faults, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		statement, err := synth.Statement(r)
		if err != nil || statement.Epsilon() > 2 || statement.Epsilon() < 1.99 || statement.Steps != 1 || statement.Research || statement.Relation != privacy.ReplaceOne.String() {
			t.Errorf("%+v, %v", statement, err)
		}
		for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html"} {
			text := string(experimenttest.Read(t, r, name))
			for _, want := range []string{"ε, δ) = (2, 1e-06)", "spots", "one image is replaced", "cosine transform", "left"} {
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

// The whole way from files to a release, of neighbours: one file is replaced, by
// other images, by what is no image, by one of another class or of none. Whatever it
// is, a release comes, and no further away than the sensitivity that the noise is
// made for. Only the keeper is told.
func TestNeighboursReleaseWithinTheSensitivity(t *testing.T) {
	white, black := image.NewGray(image.Rect(0, 0, 10, 8)), image.NewGray(image.Rect(0, 0, 10, 8))
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	encode := func(img image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	const file = "left/0004.png"
	move := func(to string, content []byte) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if content == nil {
				content = files[file]
			}
			delete(files, file)
			files[to] = content
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	neighbours := map[string]func(map[string][]byte){
		"":               nil,
		"another":        move(file, spot(1, rng)),
		"white":          move(file, encode(white)),
		"black":          move(file, encode(black)),
		"broken":         move(file, []byte("zorro")),
		"empty":          move(file, []byte{}),
		"another label":  move("right/0004.png", nil),
		"label and all":  move("right/0004.png", encode(black)),
		"no class":       move("zorro/0004.png", nil),
		"no folder":      move("0004.png", nil),
		"another name":   move("right/zorro.jpg", nil),
		"image and name": move("left/zzz.png", encode(white)),
	}
	degrees := []string{"2"}
	if os.Getenv("MOLEHILL_THOROUGH") != "" {
		degrees = []string{"1", "2", "3"}
	}
	for _, degree := range degrees {
		values, sensitivity, reached := map[string][]float64{}, 0., 0.
		for name, change := range neighbours {
			data, schema := spots(t, 24, change)
			q := request(data, schema, "2", "degree", degree, "steps", "1", "images", "4")
			q.Research = true // the same noise on all
			r := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
			values[name] = released64(t, r)
			statement, err := synth.Statement(r)
			if err != nil {
				t.Fatal(err)
			}
			sensitivity = statement.Sensitivity.Value
			text, err := json.Marshal(statement)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html", SchemaFile} {
				text = append(text, experimenttest.Read(t, r, name)...)
			}
			if bytes.Contains(text, []byte("zorro")) {
				t.Errorf("%s: a file is told of", name)
			}
		}
		for name, release := range values {
			for other, their := range values {
				if name != "" && other != "" && strings.HasPrefix(name, "no ") != strings.HasPrefix(other, "no ") {
					continue // all are neighbours of each other but for the place that a name has
				}
				var squares float64
				for i, v := range release {
					squares += (v - their[i]) * (v - their[i])
				}
				d := math.Sqrt(squares)
				if reached = max(reached, d/sensitivity); d > sensitivity*(1+1e-6) {
					t.Errorf("degree %s: the releases of %q and %q are %v apart, the sensitivity is %v", degree, name, other, d, sensitivity)
				}
			}
		}
		// A changed label moves a release as far as anything can.
		if reached < 0.99 {
			t.Errorf("degree %s: neighbours reach %.3f of the sensitivity, and a label alone reaches all of it", degree, reached)
		}
	}
}

// A run that is stopped after its release goes on with the same one.
func TestAStoppedRunReleasesTheSame(t *testing.T) {
	data, schema := spots(t, 60, nil)
	r := experimenttest.Acquired(t, request(data, schema, "1"))
	if experiment.Compute(&afterRelease{t.Context(), r}, r) == nil {
		t.Fatal("the run was faster than its interruption")
	}
	before := released64(t, r)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	experimenttest.Computed(t, r, 0)
	for i, v := range released64(t, r) {
		if v != before[i] {
			t.Fatalf("number %d was released as %v, then as %v", i, before[i], v)
		}
	}
}

// afterRelease is a context that ends once something was released.
type afterRelease struct {
	context.Context
	run *run.Run
}

func (c *afterRelease) Err() error {
	if names, err := c.run.Artefacts(); err == nil && strings.Contains(strings.Join(names, " "), releaseFile) {
		return context.Canceled
	}
	return c.Context.Err()
}

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
	for want, q := range map[string]experiment.Request{
		"nobody has said yet":      request(data, other(`"crop", "public": true`, `"crop", "public": false`), "1"),
		"classes: 2: left, right":  request(data, other(`"right"], "public": true`, `"right"], "public": false`), "1"),
		"no such file":             request(data+"x", schema, "1"),
		"drafts one":               request(data, schema+"x", "1"),
		"ε = 0":                    request(data, schema, "0"),
		"δ = 2":                    request(data, schema, "1", "delta", "2"),
		"expected one of .zip":     request(data, schema, "1", "format", ".csv"),
		"steps is 0":               request(data, schema, "1", "steps", "0"),
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
	} {
		if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

// The name of a run, which stands in its report, must not let anybody try images: in
// another store the same files have another one.
func TestInputsAreHashedUnderASecret(t *testing.T) {
	data, schema := spots(t, 6, nil)
	id := func() string {
		spec, err := request(data, schema, "1").Spec()
		if err != nil {
			t.Fatal(err)
		}
		id, err := spec.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
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

func TestTheKeeperCompares(t *testing.T) {
	data, schema := spots(t, 400, func(files map[string][]byte) { files["left/0008.png"] = []byte("broken") })
	test := filepath.Join(filepath.Dir(data), "test")
	writeSpots(t, test, 300, 9, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "inf", "steps", "40")), 0)
	d, err := Diagnose(t.Context(), r, test)
	if err != nil {
		t.Fatal(err)
	}
	// Left and right spots are told apart by anybody.
	if d.Images != 400 || d.Test != 300 || d.Real < 0.99 || d.Synthetic < 0.95 || math.Abs(d.Majority-0.5) > 0.01 || d.Classes > 0.01 || len(d.Disagreement) != 1 || d.Copies == nil || d.Distance > 0.2 {
		t.Errorf("%+v", d)
	}
	for _, name := range []string{synth.KeeperFile + ".md", synth.KeeperFile + ".html", valuesFile} {
		if info, err := os.Stat(filepath.Join(r.Dir, "artefacts", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v, %v", name, info, err)
		}
	}
	if text := string(experimenttest.Read(t, r, synth.KeeperFile+".md")); strings.Count(text, "NOT PRIVATE") < 4 || !strings.Contains(text, "Do not publish") {
		t.Error("the keeper's report does not say that it is not private")
	}
	d, err = Diagnose(t.Context(), r, "")
	if err != nil || d.Copies != nil || d.Synthetic < 0.95 {
		t.Error(d, err)
	}
	writeSpots(t, data, 400, 5, nil)
	if _, err := Diagnose(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
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
