package plugin

import (
	"errors"
	"strings"
	"testing"
)

func TestGuardNamesWhoPanics(t *testing.T) {
	none := []int{}
	for want, f := range map[string]func() error{
		`metric "mean" panicked in Measure: out of cheese (guard_test.go:12)`: func() error { panic("out of cheese") },
		"index out of range [3] with length 0 (guard_test.go:13)":             func() error { _ = none[len(none)+3]; return nil },
		"nil pointer dereference (guard_test.go:14)":                          func() error { var p *Info; p.Name = "x"; return nil },
	} {
		err := Guard("metric", "mean", "Measure", f)
		var panicked *PanicError
		if !errors.As(err, &panicked) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		} else if !strings.Contains(string(panicked.Stack), "guard_test.go") {
			t.Errorf("the stack does not reach the test:\n%s", panicked.Stack)
		}
	}
	plain := errors.New("no such file")
	if err := Guard("metric", "mean", "Measure", func() error { return plain }); err != plain {
		t.Errorf("an error comes back as %v", err)
	}
	if err := Guard("metric", "mean", "Measure", func() error { return nil }); err != nil {
		t.Errorf("all well comes back as %v", err)
	}
}
