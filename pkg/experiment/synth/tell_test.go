package synth

import (
	"strings"
	"testing"

	"molehill/pkg/experiment/experimenttest"
)

// Without noise a report says so, and nothing that only noise makes true.
func TestReportsWithoutNoiseSayNothingOfIt(t *testing.T) {
	for _, method := range Methods {
		data, schema := people(t, 300, nil)
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "inf", "method", method, "rows", "50")), 0)
		text := string(experimenttest.Read(t, r, ReportFile+".md"))
		for _, wrong := range []string{"NaN", "Inf", "noisy"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the report says %q:\n%s", method, wrong, text)
			}
		}
		if !strings.Contains(text, "made without privacy") {
			t.Errorf("%s: the report does not say that there is no noise:\n%s", method, text)
		}
	}
}
