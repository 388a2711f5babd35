package toy

import (
	"math"
	"testing"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/run"
)

// finish runs the toy problem and returns its result.
func finish(t *testing.T, settings map[string]string) run.Result {
	t.Helper()
	r := experimenttest.Acquired(t, experiment.Request{Experiment: "five-gaussians", Seed: 1, Settings: settings})
	if err := experiment.Compute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// What 000 Figure 1 shows, in numbers: without noise the particles reach their
// target (published: 0.08), more noise keeps them further away, and noise of
// the scale that the public code takes keeps them from finding it.
func TestMoreNoiseEndsFurtherAway(t *testing.T) {
	fewer := func(sigma, published string) map[string]string {
		return map[string]string{"sigma": sigma, "published": published, "particles": "400", "points": "800", "directions": "100"}
	}
	distance := map[string]float64{}
	for _, sigma := range []string{"0", "0.5", "1"} {
		distance[sigma] = finish(t, fewer(sigma, "false")).Metrics["sliced W₂ to the target"]
	}
	if !(distance["0"] < 0.1 && distance["0"] < distance["0.5"] && distance["0.5"] < distance["1"]) {
		t.Errorf("sliced W₂ by σ: %v; want below 0.1 without noise, and growing", distance)
	}
	if d := finish(t, fewer("0.5", "true")).Metrics["sliced W₂ to the target"]; !(d >= 3*distance["0.5"]) || math.IsNaN(d) {
		t.Errorf("with σ times the sensitivity: %v, want far above %v", d, distance["0.5"])
	}
}

func TestTheSameSeedIsTheSameResult(t *testing.T) {
	small := map[string]string{"steps": "5", "particles": "50"}
	if a, b := finish(t, small), finish(t, small); a.Metrics["sliced W₂"] != b.Metrics["sliced W₂"] {
		t.Errorf("%v and %v", a.Metrics, b.Metrics)
	}
}
