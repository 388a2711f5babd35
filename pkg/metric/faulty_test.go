package metric_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"molehill/pkg/metric"
	"molehill/pkg/plugin"
	"molehill/transport"
)

// answer is a metric that answers what a test wants.
type answer struct {
	name string
	f    func() (metric.Value, error)
}

func (a answer) Describe() plugin.Info { return plugin.Info{Name: a.name, Version: "1"} }
func (a answer) Measure(_, _ transport.Points, _ *rand.Rand) (metric.Value, error) {
	return a.f()
}

func TestFaultyMetricsAreNamed(t *testing.T) {
	refusal := errors.New("closed on Sundays")
	value := func(v, e float64) func() (metric.Value, error) {
		return func() (metric.Value, error) { return metric.Value{Value: v, StandardError: e}, nil }
	}
	points := transport.NewPoints(4, 2)
	for name, c := range map[string]struct {
		f    func() (metric.Value, error)
		want string
	}{
		"good":     {value(-3, 0.5), ""},
		"panics":   {func() (metric.Value, error) { panic("no cheese") }, "panicked in Measure: no cheese (faulty_test.go:"},
		"nan":      {value(math.NaN(), 0), "measured NaN"},
		"infinite": {value(math.Inf(1), 0), "measured +Inf"},
		"nan-err":  {value(1, math.NaN()), "standard error of NaN"},
		"negative": {value(1, -1), "standard error of -1"},
		"refuses":  {func() (metric.Value, error) { return metric.Value{}, refusal }, "closed on Sundays"},
	} {
		name = "faulty-" + name
		metric.Registry.Register(answer{name, c.f})
		v, err := metric.Measure(name, points, points, nil)
		switch {
		case c.want == "" && (err != nil || v.Value != -3):
			t.Errorf("the good one beside them: %v, %v", v, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `metric "`+name+`"`)):
			t.Errorf("%s: %v, want it to say %q and its name", name, err, c.want)
		}
	}
	for want, other := range map[string]transport.Points{"dimension 2 and real ones of 3": transport.NewPoints(4, 3), "real points": {Dim: 2}} {
		if _, err := metric.Measure("faulty-good", points, other, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("points that do not compare: %v, want %q", err, want)
		}
	}
	if _, err := metric.Measure("sliced-w3", points, points, nil); err == nil || !strings.Contains(err.Error(), "did you mean sliced-w2") {
		t.Errorf("an unknown metric: %v", err)
	}
}

// spread is how much wider generated points lie than real ones.
type spread struct{}

func (spread) Describe() plugin.Info {
	return plugin.Info{Name: "spread", Summary: "mean norm of generated points over that of real ones; 1 is ideal", Version: "1"}
}

func (spread) Measure(generated, real transport.Points, _ *rand.Rand) (metric.Value, error) {
	return metric.Value{Value: norm(generated) / norm(real)}, nil
}

func norm(p transport.Points) float64 {
	sum := 0.0
	for i := range p.Len() {
		sum += math.Hypot(float64(p.Row(i)[0]), float64(p.Row(i)[1]))
	}
	return sum / float64(p.Len())
}

// A metric of a package takes a type and a line in init.
func ExampleMeasure() {
	metric.Registry.Register(spread{})

	generated := transport.Points{Dim: 2, Data: []float32{3, 4, 0, 5}}
	real := transport.Points{Dim: 2, Data: []float32{2, 0, 0, 2}}
	v, err := metric.Measure("spread", generated, real, nil)
	fmt.Println(v.Value, err)
	// Output: 2.5 <nil>
}
