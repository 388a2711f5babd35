package images

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"molehill/pkg/experiment"
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
