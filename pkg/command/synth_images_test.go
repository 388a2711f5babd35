package command

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/pkg/npy"
)

// ownImages writes a folder of images of two classes and returns its path, in a
// place of its own for runs.
func ownImages(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv("MOLEHILL_LEDGER", filepath.Join(dir, "ledger.db"))
	t.Setenv("GOMLX_BACKEND", "go") // starts at once
	rng := rand.New(rand.NewPCG(1, 3))
	folder := filepath.Join(dir, "My Photos v1.2")
	for i := range n {
		class := []string{"day", "night"}[i%2]
		img := image.NewNRGBA(image.Rect(0, 0, 12, 9))
		for y := range 9 {
			for x := range 12 {
				level := byte(180 - 120*(i%2) + rng.IntN(60))
				img.SetNRGBA(x, y, color.NRGBA{level, level, byte(rng.IntN(256)), 255})
			}
		}
		path := filepath.Join(folder, class, fmt.Sprintf("%04d.png", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file, img); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A walk from a folder of images to a synthetic one, as a user takes it.
func TestFromAFolderToASyntheticOne(t *testing.T) {
	data := ownImages(t, 200)
	dir := filepath.Dir(data)
	schema, out := data+".schema.json", filepath.Join(dir, "made")
	synth := func(more ...string) []string {
		return append([]string{"synth", "--data", data + "/", "--epsilon", "2", "--set", "steps=5", "--set", "coefficients=12"}, more...)
	}
	if err := os.WriteFile(filepath.Join(data, "day", "broken.png"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	if said := mustMolehill(t, "schema", data); !strings.Contains(said, "as private as they are") || !strings.Contains(said, "12×9 pixels (width × height), in colour") || !strings.Contains(said, "day, night") {
		t.Error(said)
	}
	if info, err := os.Stat(schema); err != nil || info.Mode().Perm() != 0o600 {
		t.Error("a draft is as private as the images:", info, err)
	}
	if _, err := molehill(t, "schema", data); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Error("a schema was replaced:", err)
	}
	if _, err := molehill(t, synth("--out", out)...); err == nil || !strings.Contains(err.Error(), "nobody has said yet") {
		t.Error("an unconfirmed schema was used:", err)
	}
	if said := mustMolehill(t, "schema", "confirm", schema, "images"); strings.Count(said, "yes") != 1 {
		t.Error(said)
	}
	if _, err := molehill(t, synth("--out", out)...); err == nil || !strings.Contains(err.Error(), "classes: 2") {
		t.Error("found", err)
	}
	mustMolehill(t, "schema", "confirm", schema, "--all")
	if said := mustMolehill(t, "schema", "check", schema, data); !strings.Contains(said, "201 images") || !strings.Contains(said, "no whole PNG") || !strings.Contains(said, "day/broken.png") {
		t.Error(said)
	}

	said := mustMolehill(t, synth("--out", out)...)
	for _, want := range []string{"(ε = 2, δ = 1e-06) as proved", "made.report.html", "keeper only", "own/my-photos-v1", "accuracy", "files that are no whole PNG or JPEG image: 1; each"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	made := 0
	for _, class := range []string{"day", "night"} {
		entries, err := os.ReadDir(filepath.Join(out, class))
		if err != nil {
			t.Fatal(err)
		}
		made += len(entries)
	}
	file, err := os.Open(filepath.Join(out, "night", "00001.png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(file)
	if err != nil || made != 201 || img.Bounds().Dx() != 12 || img.Bounds().Dy() != 9 {
		t.Errorf("%d images, of %v, %v", made, img.Bounds(), err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	for name, mode := range map[string]os.FileMode{"made.report.md": 0o644, "made.keeper-only.md": 0o600, "made.keeper-only.html": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for _, folder := range []string{".", "made"} {
		if left, _ := filepath.Glob(filepath.Join(dir, folder, ".molehill-*")); left != nil {
			t.Error("left behind:", left)
		}
	}

	if _, err := molehill(t, synth("--out", out, "--force")...); err == nil || !strings.Contains(err.Error(), "not replaced") {
		t.Error("a folder was replaced:", err)
	}
	mustMolehill(t, synth("--out", out+".zip", "--force", "--no-keeper")...)
	id := regexp.MustCompile(`run (synth-images-\w+)`).FindStringSubmatch(said)[1]
	if said := mustMolehill(t, "audit", id, "--seeds", "100"); !strings.Contains(said, "of their class, or of another") || !strings.Contains(said, "survives") {
		t.Error(said)
	}
	mustMolehill(t, synth("--out", out+".npz", "--force", "--no-keeper")...)
	if status := mustMolehill(t, "budget", "status", "own/my-photos-v1.2"); !strings.Contains(status, "runs    1") {
		t.Errorf("another format paid again:\n%s", status)
	}
	said = mustMolehill(t, "synth", "--data", data, "--epsilon", "2", "--method", "dp-sinkhorn", "--set", "steps=10", "--set", "batch=8", "--set", "width=4", "--out", filepath.Join(dir, "trained.npz"))
	id = regexp.MustCompile(`run (synth-images-\w+)`).FindStringSubmatch(said)[1]
	if said := mustMolehill(t, "audit", id, "--seeds", "50"); !strings.Contains(said, "the first 10 steps") || !strings.Contains(said, "survives") {
		t.Error(said)
	}
	if said := mustMolehill(t, "schema", out+".npz", "--name", "again"); !strings.Contains(said, "12×9 pixels (width × height), in colour") {
		t.Error(said)
	}
}

func TestSynthFindsMistakesWithImagesBeforeItSpends(t *testing.T) {
	data := ownImages(t, 10)
	dir := filepath.Dir(data)
	mustMolehill(t, "schema", data)
	schema, out := data+".schema.json", filepath.Join(dir, "made.zip")
	mustMolehill(t, "schema", "confirm", schema, "--all")
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(data, linked); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"or no ending for a folder":    {"synth", "--data", data, "--out", out + ".csv", "--epsilon", "1"},
		data + ", which is read":       {"synth", "--data", data, "--out", filepath.Join(data, "made"), "--epsilon", "1"},
		"lies in " + data:              {"synth", "--data", data, "--out", filepath.Join(linked, "made"), "--epsilon", "1"},
		"did you mean harmonic-sketch": {"synth", "--data", data, "--out", out, "--epsilon", "1", "--method", "pairs"},
		"no images":                    {"synth", "--data", empty, "--schema", schema, "--out", out, "--epsilon", "1"},
		"drafts one":                   {"synth", "--data", empty, "--out", out, "--epsilon", "1"},
		"there is a flag for it":       {"synth", "--data", data, "--out", out, "--epsilon", "1", "--set", "images=3"},
		"no model":                     {"synth", "--data", data, "--out", out, "--epsilon", "1", "--set", "code=vae"},
		"images have classes":          {"schema", data, "--target", "day", "--force"},
		"a subfolder for each class":   {"schema", empty},
		"part of the schema":           {"schema", "confirm", schema, "imagse"},
	} {
		if _, err := molehill(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %v: want an error with %q, found %v", arguments, want, err)
		}
	}
	if status := mustMolehill(t, "budget", "status", "own/my-photos-v1.2"); !strings.Contains(status, "runs    0") {
		t.Errorf("a mistake was paid for:\n%s", status)
	}
}

func TestSynthDoesNotPayForGreyImages(t *testing.T) {
	data := ownImages(t, 10)
	mustMolehill(t, "schema", data)
	mustMolehill(t, "schema", "confirm", data+".schema.json", "--all")
	for i := range 11 {
		if err := os.WriteFile(filepath.Join(data, "day", fmt.Sprintf("broken%d.png", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := mustMolehill(t, "schema", data, "--force"); !strings.Contains(said, "files that are no whole PNG or JPEG image: 11;") {
		t.Errorf("the draft does not say what is no image:\n%s", said)
	}
	mustMolehill(t, "schema", "confirm", data+".schema.json", "--all")
	if said, err := molehill(t, "synth", "--data", data, "--epsilon", "2", "--out", data+".zip"); err == nil || !strings.Contains(err.Error(), "11 of 21 images") || !strings.Contains(said, "day/broken0.png") {
		t.Errorf("found %v, said\n%s", err, said)
	}
	if status := mustMolehill(t, "budget", "status", "own/my-photos-v1.2"); !strings.Contains(status, "runs    0") {
		t.Errorf("grey images were paid for:\n%s", status)
	}
}

// Images of which most have values that are moved to an end are no images of that schema.
func TestSynthDoesNotPayForClampedImages(t *testing.T) {
	data := filepath.Join(filepath.Dir(ownImages(t, 1)), "photos.npz")
	write := func(bright int) {
		const n, side = 21, 9
		values := make([]float32, n*side*side)
		for i := range bright {
			values[i*side*side+i] = 255
		}
		file, err := os.Create(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(npy.WriteArchive(file, nil, []npy.Array[float32]{{Name: "x", Shape: []int{n, side, side}, Value: values}}), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(0)
	mustMolehill(t, "schema", data)
	schema, _ := filepath.Glob(filepath.Join(filepath.Dir(data), "photos*.schema.json"))
	if len(schema) != 1 {
		t.Fatal(schema)
	}
	mustMolehill(t, "schema", "confirm", schema[0], "--all")
	synth := []string{"synth", "--data", data, "--epsilon", "2", "--out", filepath.Join(filepath.Dir(data), "made.zip"), "--set", "steps=2", "--set", "coefficients=4", "--no-keeper"}
	write(11)
	if said, err := molehill(t, synth...); err == nil || !strings.Contains(err.Error(), "11 of 21 images") || !strings.Contains(said, "moved to the nearer end") {
		t.Errorf("found %v, said\n%s", err, said)
	}
	if status := mustMolehill(t, "budget", "status", "own/photos"); !strings.Contains(status, "runs    0") {
		t.Errorf("clamped images were paid for:\n%s", status)
	}
	write(10)
	if said := mustMolehill(t, synth...); !strings.Contains(said, "white: 10;") || !strings.Contains(said, "Paid: entry 1") {
		t.Errorf("ten of 21 stop a run:\n%s", said)
	}
}

// The folder of the images is nowhere to write to, nor is one that holds it.
func TestSynthImagesAreWrittenElsewhere(t *testing.T) {
	made := ownImages(t, 4)
	data := filepath.Join(filepath.Dir(made), "photos") // without an ending, as folders to write to are
	if err := os.Rename(made, data); err != nil {
		t.Fatal(err)
	}
	mustMolehill(t, "schema", data)
	mustMolehill(t, "schema", "confirm", data+".schema.json", "--all")
	for _, out := range []string{data, filepath.Dir(data)} {
		if _, err := molehill(t, "synth", "--data", data, "--epsilon", "1", "--out", out, "--force"); err == nil || !strings.Contains(err.Error(), "which is read") || strings.Contains(err.Error(), "remove it") {
			t.Errorf("--out %s: %v", out, err)
		}
	}
}
