package images

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

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
	if d.Images != 400 || d.Test != 300 || !(d.Real >= 0.99 && d.Synthetic >= 0.95 && math.Abs(d.Majority-0.5) <= 0.01 && d.Classes <= 0.01) || len(d.Disagreement) != 1 || d.Copies == nil || !(d.Distance <= 0.2) {
		t.Errorf("%+v", d)
	}
	for _, name := range []string{synth.KeeperFile + ".md", synth.KeeperFile + ".html", synth.KeeperFolder + "/values.json"} {
		if info, err := os.Stat(filepath.Join(r.Dir, "artefacts", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v, %v", name, info, err)
		}
	}
	if text := string(experimenttest.Read(t, r, synth.KeeperFile+".md")); strings.Count(text, "NOT PRIVATE") < 4 || !strings.Contains(text, "Do not publish") {
		t.Error("the keeper's report does not say that it is not private")
	}
	d, err = Diagnose(t.Context(), r, "")
	if err != nil || d.Copies != nil || !(d.Synthetic >= 0.95) {
		t.Error(d, err)
	}
	writeSpots(t, data, 400, 5, nil)
	if _, err := Diagnose(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
}
