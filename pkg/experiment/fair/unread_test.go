package fair

import (
	"strings"
	"testing"

	"molehill/pkg/experiment"
)

// A setting that a task does not read is refused for a new run, by its name and with who
// would read it: it would pay for another release and change nothing.
func TestSettingsThatATaskDoesNotReadAreRefused(t *testing.T) {
	for _, c := range []struct {
		experiment, setting, value string
		want                       string // "" where it is read
	}{
		{"fair-classification", "hidden", "64", "fair-regression"},
		{"fair-classification", "projections", "3", "fair-representation"},
		{"fair-classification", "jacobian", "2", ""},
		{"fair-classification", "probability", "0.6", ""},
		{"fair-adult", "probability", "0.6", "fair-classification"},
		{"fair-adult", "hidden", "2", "fair-regression"},
		{"fair-regression", "hidden", "32", ""},
		{"fair-regression-1d", "projections", "5", "fair-regression"},
		{"fair-regression-1d-post", "jacobian", "2", "fair-regression-1d"},
		{"fair-regression-1d-post", "output_limit", "2", "fair-adult"},
		{"fair-regression-1d-post", "bins", "12", ""},
		{"fair-representation", "projections", "20", ""},
	} {
		spec, err := experiment.Request{Experiment: c.experiment, Seed: 1, Research: true, Settings: map[string]string{c.setting: c.value}}.Spec()
		if err != nil {
			t.Fatal(err)
		}
		err = experiment.CheckUnread(spec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.setting) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %s=%s: %v; want %q in it", c.experiment, c.setting, c.value, err, c.want)
		}
	}
}

// With p at an end no group has both labels, and odds cannot be measured: that is said
// before anything is computed.
func TestProbabilityAtAnEndIsRefused(t *testing.T) {
	for _, p := range []string{"0", "1"} {
		ask := func(name string) error {
			_, err := experiment.Request{Experiment: name, Seed: 1, Research: true, Settings: map[string]string{"probability": p}}.Spec()
			return err
		}
		if err := ask("fair-classification"); err == nil || !strings.Contains(err.Error(), "between 0 and 1") {
			t.Errorf("p = %s: %v", p, err)
		}
		if err := ask("fair-regression"); err != nil {
			t.Errorf("p = %s where no label is predicted: %v", p, err)
		}
	}
}
