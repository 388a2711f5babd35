package command

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// accountedFor runs epsilon --json and returns ε by accountant.
func accountedFor(t *testing.T, arguments ...string) map[string]float64 {
	t.Helper()
	var answer struct {
		Accountants []struct {
			Accountant string
			Epsilon    *float64
		}
	}
	out := mustMolehill(t, append([]string{"epsilon", "--json"}, arguments...)...)
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	found := map[string]float64{}
	for _, a := range answer.Accountants {
		if a.Epsilon != nil {
			found[a.Accountant] = *a.Epsilon
		}
	}
	return found
}

// 3.1788 is dp_accounting 0.6.0's PLD at an interval of 1e-5, 9.888 what Abadi's
// moments say of 003's σ = 0.68; the others are pinned in the accountants' tests.
func TestEpsilonOfMechanisms(t *testing.T) {
	for _, c := range []struct {
		arguments  string
		accountant string
		want       float64
	}{
		{"--noise-multiplier 0.75 --rate 0.000833333333 --steps 160000 --delta 1e-5", "pld", 3.1788},
		{"--noise-multiplier 0.75 --batch 50 --records 60000 --steps 160000 --delta 1e-5 --accountant all", "rdp", 3.482},
		{"--noise-multiplier 0.68 --batch 250 --records 30000 --steps 4200 --delta 1e-5 --accountant moments", "moments", 9.888},
		{"--noise-multiplier 0.68 --batch 250 --records 30000 --steps 4200 --delta 1e-5 --sampling without-replacement --accountant rdp", "rdp", 10.86},
		{"--noise-multiplier 3.73063 --delta 1e-5", "analytic-gaussian", 1},
		{"--noise-multiplier 2 --delta 1e-9 --mechanism laplace", "pld", 0.5},
		{"--noise-multiplier 3.73063 --delta 1e-5 --accountant gdp --relation zero-out", "gdp", 1},
	} {
		found := accountedFor(t, strings.Fields(c.arguments)...)
		if got, ok := found[c.accountant]; !ok || !(math.Abs(got/c.want-1) <= 2e-3) {
			t.Errorf("epsilon %s: %v; want %s to say %v", c.arguments, found, c.accountant, c.want)
		}
	}
}

func TestEpsilonIsWritten(t *testing.T) {
	out := mustMolehill(t, strings.Fields("epsilon --noise-multiplier 1.1 --rate 0.01 --steps 100 --delta 1e-5 --accountant all")...)
	for _, want := range []string{"Poisson samples at rate 0.01", "100 times", "under add-remove", "pld", "rdp", "not proved: a central limit", "no theorem", "at δ = 1e-05"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// What calibrate finds costs what was asked for.
func TestCalibrateFindsWhatIsLeftOut(t *testing.T) {
	for found, arguments := range map[string]string{
		"noise_multiplier": "--rate 0.01 --steps 1000",
		"steps":            "--rate 0.01 --noise-multiplier 1.2",
		"rate":             "--steps 1000 --noise-multiplier 1.2 --sampling without-replacement",
	} {
		var answer map[string]any
		out := mustMolehill(t, strings.Fields("calibrate --epsilon 2 --delta 1e-6 --json "+arguments)...)
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		if kind := strings.ReplaceAll(answer["found"].(string), "-", "_"); kind != found {
			t.Errorf("calibrate %s found the %s, want %s", arguments, kind, found)
		}
		flags := fmt.Sprintf("--noise-multiplier %v --steps %.0f --rate %v --delta 1e-6", answer["noise_multiplier"], answer["steps"], answer["rate"])
		if found == "rate" {
			flags += " --sampling without-replacement"
		}
		if got := accountedFor(t, strings.Fields(flags)...)["pld"]; !(got <= 2 && got >= 1.99) {
			t.Errorf("calibrate %s found %v, which costs ε = %v; want 2", arguments, answer[found], got)
		}
	}
}

func TestMechanismsThatAreNone(t *testing.T) {
	for arguments, want := range map[string]string{
		"epsilon --noise-multiplier 1 --delta 1e-5 --sampling poisson":                                              "give --rate",
		"calibrate --epsilon 1 --delta 1e-5 --rate 0":                                                               "looks at no record",
		"epsilon --delta 1e-5":                                                                                      "--noise-multiplier is missing",
		"epsilon --noise-multiplier 1":                                                                              "--delta is missing",
		"epsilon --noise-multiplier 0 --delta 1e-5":                                                                 "noise multiplier greater than 0",
		"epsilon --noise-multiplier NaN --delta 1e-5":                                                               "noise multiplier greater than 0",
		"epsilon --noise-multiplier -1 --delta 1e-5":                                                                "noise multiplier greater than 0",
		"epsilon --noise-multiplier 1 --delta 0":                                                                    "δ in (0, 1)",
		"epsilon --noise-multiplier 1 --delta 1":                                                                    "δ in (0, 1)",
		"epsilon --noise-multiplier 1 --delta NaN":                                                                  "δ in (0, 1)",
		"epsilon --noise-multiplier 1 --delta 1e-5 --rate 1.5":                                                      "rate in [0, 1]",
		"epsilon --noise-multiplier 1 --delta 1e-5 --rate 2 --sampling without-replacement":                         "0 ≤ size",
		"epsilon --noise-multiplier 1 --delta 1e-5 --steps 0":                                                       "at least 1",
		"epsilon --noise-multiplier 1 --delta 1e-5 --batch 10":                                                      "--batch and --records together",
		"epsilon --noise-multiplier 1 --delta 1e-5 --batch 10 --records 5":                                          "batch ≤ records",
		"epsilon --noise-multiplier 1 --delta 1e-5 --rate 0.1 --sampling none":                                      "leave --rate out",
		"epsilon --noise-multiplier 1 --delta 1e-5 --sampling shuffled":                                             "did you mean poisson",
		"epsilon --noise-multiplier 1 --delta 1e-5 --relation neighbours":                                           "add-remove, replace-one, zero-out or k-end",
		"epsilon --noise-multiplier 1 --delta 1e-5 --accountant pdl":                                                "did you mean",
		"epsilon --noise-multiplier 1 --delta 1e-5 --mechanism exponential":                                         "did you mean gaussian",
		"epsilon --noise-multiplier 1 --delta 1e-5 --rate 0.1 --sampling without-replacement --relation add-remove": "replace-one",
		"calibrate --delta 1e-5":                                                                                    "--epsilon is missing",
		"calibrate --epsilon 0 --delta 1e-5":                                                                        "ε greater than 0",
		"calibrate --epsilon 1 --delta 1e-5 --noise-multiplier 1 --steps 3 --rate 0.1":                              "leave out the one to be found",
		"calibrate --epsilon 1 --delta 1e-5 --accountant all":                                                       "the one to calibrate by",
		"calibrate --epsilon 0.001 --delta 1e-9 --noise-multiplier 0.1":                                             "not even one step",
	} {
		if out, err := molehill(t, strings.Fields(arguments)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("molehill %s: %v, want it to say %q\n%s", arguments, err, want, out)
		}
	}
}
