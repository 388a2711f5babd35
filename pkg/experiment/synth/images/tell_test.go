package images

import (
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
)

// Without noise a report says so, and nothing that only noise makes true; with much of
// it, that the shares of classes say nothing.
func TestReportsTellOfTheNoise(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "go") // which starts at once
	for _, method := range Methods {
		settings := []string{"method", method, "steps", "20", "images", "30"}
		if method == Sinkhorn {
			settings = append(trained(), settings...)
		}
		data, schema := spots(t, 60, nil)
		report := func(epsilon string) string {
			r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, epsilon, settings...)), 0)
			return string(experimenttest.Read(t, r, synth.ReportFile+".md"))
		}
		text := report("inf")
		for _, wrong := range []string{"NaN", "noisy", "noise on a share"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the report says %q:\n%s", method, wrong, text)
			}
		}
		if !strings.Contains(text, "made without privacy") {
			t.Errorf("%s: the report does not say that there is no noise:\n%s", method, text)
		}
		const nothing = "say next to nothing of the images"
		if text := report("0.001"); !strings.Contains(text, "noise on a share") || !strings.Contains(text, nothing) {
			t.Errorf("%s: the report of much noise does not say that shares mean nothing:\n%s", method, text)
		}
		if text := report("1000"); !strings.Contains(text, "noise on a share") || strings.Contains(text, nothing) {
			t.Errorf("%s: the report of little noise does not give it, or says that shares mean nothing:\n%s", method, text)
		}
	}
}

func TestOneImageIsOne(t *testing.T) {
	if one, many := counted(1), counted(2); one != "1 synthetic image" || many != "2 synthetic images" {
		t.Errorf("%s, %s", one, many)
	}
}
