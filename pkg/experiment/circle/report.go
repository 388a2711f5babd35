package circle

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/viz"
)

func init() { sweep.Registry.Register(figures{}) }

// figures are 004's Figures 22 and 23.
type figures struct{}

// Describe implements plugin.Plugin.
func (figures) Describe() plugin.Info {
	return plugin.Info{Name: "circle", Version: "1", Source: "004, Figures 22 and 23",
		Summary: "private generators of points on a circle: noise on gradients against noise on projections"}
}

// The values of ε for Z. 004 has its own in its figures alone.
var budgets = map[string][]string{"circle": {"1", "0.3", "inf"}, "circle-projections": {"1", "10", "100", "inf"}}

// few are ours: with the paper's sizes more steps of the same budget only bring noise.
const few = "250"

// Requests implements sweep.Sweep.
func (figures) Requests(preset experiment.Preset, seeds int) []experiment.Request {
	var lines []sweep.Line
	for _, k := range kinds {
		for _, epsilon := range budgets[k.Name] {
			lines = append(lines, sweep.Line{Experiment: k.Name, Settings: map[string]string{"epsilon": epsilon}})
			if preset == experiment.Paper && k.Name == "circle" && epsilon != "inf" {
				lines = append(lines, sweep.Line{Experiment: k.Name, Settings: map[string]string{"epsilon": epsilon, "steps": few}})
			}
		}
	}
	return sweep.Requests(lines, preset, seeds)
}

// cell are runs of an experiment with an ε and so many steps that differ in their seed alone.
type cell struct {
	key
	name   string // with its steps, where others of the experiment have more
	config Config // of the first run
	sweep.Part
}

// key is what runs of a cell have in common.
type key struct {
	experiment string
	epsilon    privacy.Epsilon
	steps      int
}

// Report implements sweep.Sweep: a table, and the frames of a run of each line, of
// those that are at hand.
func (figures) Report(rows []sweep.Row, _ sweep.Samples) (sweep.Report, error) {
	r := sweep.Report{Figures: map[string]viz.Figure{}}
	groups, err := sweep.Groups(rows, func(row sweep.Row, c Config) (key, bool) {
		return key{row.Experiment, c.Epsilon, c.Steps}, slices.ContainsFunc(kinds, func(k *kind) bool { return k.Name == row.Experiment })
	})
	if err != nil {
		return r, err
	}
	var cells []cell
	for _, g := range groups {
		c := cell{g.Key, g.Key.experiment, g.Config, g.Part}
		if slices.ContainsFunc(groups, func(o sweep.Group[key, Config]) bool {
			return o.Key.experiment == c.experiment && o.Key.steps > c.steps
		}) {
			c.name += fmt.Sprintf(", %d steps", c.steps)
		}
		c.name += c.Besides()
		cells = append(cells, c)
	}
	t := viz.Table{Title: "Points on a circle", Header: []string{"experiment", "ε of Z", "ε of X", "as published", "noise", "noise norm", "squared sliced W₂", "steps", "seeds", "seconds"},
		Caption: "ε is what is proved for the records Z that are to be looked like, and for the sample X that is transformed; as published: ε by 004's own accounting for the same noise. Noise is what each number of a gradient, or of projections, gets at a step; that of a gradient has at most the noise norm with probability 0.95 (Corollary 4.2). The distance is between generated points and new ones of the circle. At ε = ∞ gradients have no noise and are clipped as the others. 004 prints its numbers in figures alone."}
	for _, c := range cells {
		epsilon := func(name string) string {
			mean, _ := c.Over(name)
			return privacy.Epsilon(mean).String()
		}
		_, published := sweep.Claims(c.Rows)
		t.Add(c.name, epsilon("ε of Z"), epsilon("ε of X"), published, viz.Spread(c.Over("noise")), viz.Spread(c.Over("noise norm")), viz.Spread(c.Over("distance")),
			c.config.Steps, len(c.Rows), math.Round(sweep.MedianSeconds(c.Rows)))
		one, ok := c.Rows[0].Opened()
		if !ok || c.Unlike != "" {
			continue
		}
		pictures, err := Frames(one)
		if err != nil {
			return r, err
		}
		r.Figures[sweep.Picture(c.name, c.config.Epsilon.String())] = Panels(fmt.Sprintf("%s, ε = %v", c.name, c.config.Epsilon), pictures)
	}
	r.Tables = []viz.Table{t}
	if chart := trade(cells); len(chart.Lines) > 0 {
		r.Figures["circle-distance.png"] = chart
	}
	return r, nil
}

// trade is the distance over ε of Z, a line for each name.
func trade(cells []cell) viz.Curves {
	chart := viz.Curves{Title: "What a distance to the circle costs", Caption: "Means over seeds, with a standard deviation to both sides, and dotted what remains without privacy.",
		X: viz.Axis{Label: "ε, proved for Z", Log: true}, Y: viz.Axis{Label: "squared sliced W₂", Log: true}, Height: 360}
	for name, cells := range sweep.Split(cells, func(c cell) string { return c.name }) {
		line := viz.Line{Name: name}
		for _, c := range cells {
			mean, deviation := c.Over("distance")
			if !c.budget().Private() {
				chart.References = append(chart.References, viz.Reference{Name: name + " without privacy", Value: mean})
				continue
			}
			if math.IsNaN(deviation) { // of one seed
				deviation = 0
			}
			at, _ := slices.BinarySearch(line.X, float64(c.config.Epsilon))
			line.X, line.Y = slices.Insert(line.X, at, float64(c.config.Epsilon)), slices.Insert(line.Y, at, mean)
			line.Low, line.High = slices.Insert(line.Low, at, max(mean-deviation, mean/10)), slices.Insert(line.High, at, mean+deviation)
		}
		if len(line.X) > 0 {
			chart.Lines = append(chart.Lines, line)
		}
	}
	return chart
}

func (c cell) budget() privacy.Budget { return c.config.budget() }

// Frames returns the pictures of a finished run.
func Frames(r *run.Run) (pictures []Frame, err error) {
	if err := r.ReadJSON(frames, &pictures); err != nil {
		return nil, err
	}
	for i, p := range pictures {
		if len(p.Points)%2 != 0 || len(p.Points) == 0 {
			return nil, fmt.Errorf("circle: %s of %s: picture %d has %d numbers; expected two a point", frames, r.ID, i+1, len(p.Points))
		}
	}
	return pictures, nil
}

// edge is how far pictures reach.
const edge = 1.3

// Panels sets pictures side by side, with what has been spent at each.
func Panels(title string, pictures []Frame) viz.Panels {
	f := viz.Panels{Title: title, Rows: []string{""},
		Caption: "Green: generated points, but for those beyond the picture; grey: the circle. Below: ε, as proved so far for the sample X that is transformed and for the records Z; and d, the squared sliced W₂ to the circle."}
	target := Points(1500, noise.Seeded(0), "picture")
	for _, p := range pictures {
		f.Cols = append(f.Cols, fmt.Sprintf("step %d", p.Step))
		f.Cells = append(f.Cells, viz.Particles{X: inside(p.Points), Target: target.Data, Region: viz.Region{MinX: -edge, MaxX: edge, MinY: -edge, MaxY: edge},
			LabelX: fmt.Sprintf("X %s, Z %s; d %.2g", short(p.EpsilonX), short(p.EpsilonZ), p.Distance)})
	}
	return f
}

// short writes ε with two digits, or all before the point, rounded up as privacy.Epsilon
// does: what is proved is not less.
func short(e privacy.Epsilon) string {
	v := float64(e)
	if math.IsInf(v, 1) || v == 0 {
		return e.String()
	}
	unit := math.Pow10(min(0, int(math.Floor(math.Log10(v)))-1))
	if v = math.Ceil(v/unit*(1-1e-9)) * unit; v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// inside returns the points of a picture, [n, 2], that do not lie beyond it.
func inside(points []float32) (kept []float32) {
	for i := 0; i+1 < len(points); i += 2 {
		if x, y := points[i], points[i+1]; max(x, -x, y, -y) <= edge {
			kept = append(kept, x, y)
		}
	}
	return kept
}
