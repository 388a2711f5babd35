package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/run"
	"molehill/pkg/run/draw"
	"molehill/privacy"
	"molehill/viz"
)

// Result is a run and what it left.
type Result struct{ *run.Run }

// Metric returns a measured number by its name, "sliced W₂" for example.
func (r *Result) Metric(name string) float64 {
	result := must(r.Run.Result())
	value, ok := result.Metrics[name]
	if !ok {
		fail(fmt.Errorf("%s measured no %s; there is %s", r.ID, name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(result.Metrics)), ", "), "none yet")))
	}
	return value
}

// Table returns an artefact of numbers, row-major, and its number of columns.
func (r *Result) Table(name string) (data []float32, columns int) {
	data, columns, err := r.Run.Table(name)
	if err != nil {
		fail(err)
	}
	return data, columns
}

// Samples returns up to n generated images as a figure.
func (r *Result) Samples(n int) viz.Images {
	return r.Images("samples.npy", n)
}

// Images returns up to n of the square images of an artefact as a figure.
func (r *Result) Images(name string, n int) viz.Images { return must(draw.Images(r.Run, name, n)) }

// Measure measures the run further: its FID ("fid") by as many generated images,
// or whether it copies ("copies"). What was measured before is there at once.
func (r *Result) Measure(name string, rows int) map[string]float64 {
	bar := viz.NewProgress(name+" of "+r.ID, 0)
	bar.Set(0, "") // it may take minutes before there is more to say
	var found struct{ Values run.Values }
	err := ask(&found, "measure", r.ID, name, "--rows", strconv.Itoa(rows), "--json")
	bar.Done()
	if err != nil {
		fail(err)
	}
	return found.Values
}

// Curve returns a curve of the run, "sliced W₂" for example, as a figure.
func (r *Result) Curve(name string) viz.Curves { return must(draw.Curve(r.Run, name)) }

// Line returns a curve of the run as a line, to be drawn beside others.
func (r *Result) Line(name string) viz.Line { return r.Curve(name).Lines[0] }

// String says which run it is and what it came to: what `viz.Show(r)` shows.
func (r *Result) String() string {
	text := fmt.Sprintf("%s: %s", r.ID, r.Spec.Experiment)
	result, err := r.Run.Result()
	if err != nil {
		return text + "; it has no result yet"
	}
	for _, name := range slices.Sorted(maps.Keys(result.Metrics)) {
		text += fmt.Sprintf("; %s %.4g", name, result.Metrics[name])
	}
	return text + "\n(viz.Show(r.Samples(64)), r.Curve(name) and r.Privacy() show more)"
}

// Statement returns what the run may say about its privacy.
func (r *Result) Statement() privacy.Statement { return must(r.Run.Statement()) }

// Privacy returns the statement as a table.
func (r *Result) Privacy() viz.Table {
	s := r.Statement()
	t := viz.Table{Title: fmt.Sprintf("Privacy of %s: ε = %v at δ = %s, as proved", r.Spec.Experiment, s.Epsilon(), privacy.DeltaText(s.Delta)), Header: []string{"", ""}}
	if s.Research {
		t.Title += " of its noise, which a seed gives away: a research run"
	}
	for _, c := range s.Claims {
		what := "ε = " + c.Epsilon.String() + " by " + c.Accountant
		if c.Note != "" {
			what += ": " + c.Note
		}
		t.Add(c.Label, what)
	}
	if s.Asked > 0 {
		t.Add("asked for", fmt.Sprintf("ε = %v, which the noise of this plan does not prove", s.Asked))
	}
	t.Add("neighbours", s.Relation)
	t.Add("mechanism", fmt.Sprintf("%s, standard deviation %.4g = %.4g × sensitivity %.4g", s.Mechanism, s.NoiseStd, s.NoiseMultiplier, s.Sensitivity.Value))
	t.Add("sensitivity", s.Sensitivity.Query+"; "+s.Sensitivity.Source)
	t.Add("sampling", s.Sampler)
	t.Add("releases", s.Steps)
	t.Add("randomness", s.Randomness)
	for _, n := range s.NotCovered {
		t.Add("not covered", n)
	}
	return t
}
