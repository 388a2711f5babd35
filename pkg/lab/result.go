package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Result is a run and what it left.
type Result struct{ *run.Run }

// Metric returns a measured number by its name, "sliced W₂" for example.
func (r *Result) Metric(name string) float64 {
	result, err := r.Run.Result()
	if err != nil {
		fail(err)
	}
	value, ok := result.Metrics[name]
	if !ok {
		fail(fmt.Errorf("%s measured no %s; there is %s", r.ID, name, listed(slices.Sorted(maps.Keys(result.Metrics)))))
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
func (r *Result) Images(name string, n int) viz.Images {
	images, err := r.images(name, n)
	if err != nil {
		fail(err)
	}
	return images
}

func (r *Result) images(name string, n int) (viz.Images, error) {
	pixels, columns, err := r.Run.Table(name)
	switch {
	case err != nil:
		return viz.Images{}, err
	case n < 1:
		return viz.Images{}, fmt.Errorf("%s: asked for %d images; ask for one or more", name, n)
	}
	n = min(n, len(pixels)/max(columns, 1))
	images, err := viz.SquareImages(pixels[:n*columns], columns)
	if err != nil {
		return images, fmt.Errorf("%s: %w", name, err)
	}
	return images, nil
}

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
func (r *Result) Curve(name string) viz.Curves {
	line := r.Line(name)
	return viz.Curves{Title: r.Spec.Experiment + ": " + name, X: viz.Axis{Label: "step"}, Y: viz.Axis{Label: name, Log: positive(line.Y)}, Lines: []viz.Line{line}}
}

// positive reports whether values can stand on a logarithmic axis.
func positive(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v <= 0 })
}

// Line returns a curve of the run as a line, to be drawn beside others.
func (r *Result) Line(name string) viz.Line {
	line, err := r.line(name)
	if err != nil {
		fail(err)
	}
	return line
}

func (r *Result) line(name string) (viz.Line, error) {
	steps, values, err := r.Run.Curve(name)
	switch {
	case len(steps) > 0: // those that can be read
	case err != nil:
		return viz.Line{}, err
	default:
		return viz.Line{}, fmt.Errorf("%s told of no %s; there is %s", r.ID, name, listed(Comparison{Runs: []*Result{r}}.Curves()))
	}
	line := viz.Line{Name: name, Y: values}
	for _, step := range steps {
		line.X = append(line.X, float64(step))
	}
	return line, nil
}

// listed writes names for people.
func listed(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	return strings.Join(names, ", ")
}

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
func (r *Result) Statement() privacy.Statement {
	s, err := r.Run.Statement()
	if err != nil {
		fail(err)
	}
	return s
}

// Privacy returns the statement as a table.
func (r *Result) Privacy() viz.Table {
	s := r.Statement()
	t := viz.Table{Title: fmt.Sprintf("Privacy of %s: ε = %v at δ = %g, as proved", r.Spec.Experiment, s.Epsilon(), s.Delta), Header: []string{"", ""}}
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
