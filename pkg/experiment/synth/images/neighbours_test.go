package images

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

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
			values[name] = experimenttest.Numbers(t, r, experiment.ReleaseFile)
			statement, err := r.Statement()
			if err != nil {
				t.Fatal(err)
			}
			sensitivity = statement.Sensitivity.Value
			text, err := json.Marshal(statement)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html", synth.SchemaFile} {
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
				if reached = max(reached, d/sensitivity); !(d <= sensitivity*(1+1e-6)) {
					t.Errorf("degree %s: the releases of %q and %q are %v apart, the sensitivity is %v", degree, name, other, d, sensitivity)
				}
			}
		}
		// A changed label moves a release as far as anything can.
		if !(reached >= 0.99) {
			t.Errorf("degree %s: neighbours reach %.3f of the sensitivity, and a label alone reaches all of it", degree, reached)
		}
	}
}
