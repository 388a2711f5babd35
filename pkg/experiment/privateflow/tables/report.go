package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/experiment/sweep"
	"molehill/privacy"
	"molehill/viz"
)

// Report implements sweep.Sweep: a table for each data set, and the curve of
// the sliced distance over ε.
func (flows) Report(rows []sweep.Row, samples sweep.Samples) (sweep.Report, error) {
	all, err := cells(rows)
	if err != nil {
		return sweep.Report{}, err
	}
	r := sweep.Report{Figures: map[string]viz.Figure{}}
	for name, here := range sweep.Split(all, func(c cell) string { return c.dataset }) {
		slices.SortStableFunc(here, func(a, b cell) int {
			return cmp.Or(-cmp.Compare(float64(a.epsilon), float64(b.epsilon)), cmp.Compare(slices.Index(methods, a.method), slices.Index(methods, b.method)), cmp.Compare(a.name(), b.name()))
		})
		r.Tables = append(r.Tables, tableOf(name, here))
		if figure, ok := picturesOf(name, here, false, samples); ok {
			r.Figures[name+"-samples.png"] = figure
		}
		if figure, ok := picturesOf(name, here, true, samples); ok {
			r.Figures[name+"-claimed-samples.png"] = figure
		}
		for _, m := range measures {
			for _, g := range groups {
				if figure, ok := curveOf(here, g, m, name); ok {
					r.Figures[name+"-"+m.file+g.suffix+".png"] = figure
				}
			}
		}
	}
	return r, nil
}

// classes is how far generated classes are from real ones.
const classes = "class total variation"

// usualImages is how many images the field computes a FID of at the least.
const usualImages = 10_000

func tableOf(name string, cells []cell) viz.Table {
	columns := measured(cells)
	t := viz.Table{
		Title:   dataset.Title(name),
		Header:  []string{"method", "proved ε", privacy.PapersWay, "sliced W₂", "1-NN"},
		Caption: "Lower is better. Means over seeds with a standard deviation, seconds are the median." + sweep.AboutData(cells[0].Rows, name),
		Notes: []string{
			"1-NN is the accuracy of the nearest neighbour in telling generated from held-out latents, of as many of each as there are, 5,000 at most: best at 0.5.",
			"The paper's way is the ε that its own accounting gives for the same noise. A published FID is for a published ε of that size, with other noise, and on another scale than fid-768.",
		},
	}
	if points := cells[0].points; !slices.ContainsFunc(cells, func(c cell) bool { return c.points != points }) {
		t.Caption += fmt.Sprintf(" Every method makes %d points.", points)
	}
	note := func(format string, values ...any) { t.Notes = append(t.Notes, fmt.Sprintf(format, values...)) }
	nothing, _ := cells[0].Over("sliced W₂ of nothing learned")
	note("Real public latents, as many but no more than are held out, are at %s in sliced W₂, uniform points of the sphere at %.4g.", viz.Spread(cells[0].Over("sliced W₂ floor")), nothing)
	withClasses := slices.ContainsFunc(cells, func(c cell) bool { mean, _ := c.Over(classes); return !math.IsNaN(mean) })
	if withClasses {
		t.Header = append(t.Header, "classes")
		text := "Classes is the total variation between the classes of generated and held-out latents, both as the public latents around them say."
		if few, of := seedsOf(cells, sweep.Metric{Name: classes}); few < of {
			text += fmt.Sprintf(" It is of the seeds whose points were still there to count them, %d of %d at least.", few, of)
		}
		note("%s", text)
	}
	if slices.ContainsFunc(cells, func(c cell) bool { return c.published }) {
		note("Lines of the paper's noise have that and its directions, under what is proved of them; what it claims is the ε of the published FID.")
	}
	if slices.ContainsFunc(cells, func(c cell) bool { return c.printed }) {
		note("Lines as printed take ψ′ at the projections themselves, as 003's text has it, which is not the gradient of the smoothed distance; the others take it at noisy ones, which is, as 003's public code does. Figures have the gradient's.")
	}
	for _, f := range columns {
		t.Header = append(t.Header, f.String())
		if text := about(f, cells); text != "" {
			note("%s", text)
		}
	}
	t.Header = append(t.Header, "published FID", "seeds", "seconds")
	for _, c := range cells {
		line := []any{c.name(), c.proved(), c.paperSays(), viz.Spread(c.Over("sliced W₂")), viz.Spread(c.Over("1-NN accuracy"))}
		if withClasses {
			line = append(line, viz.Spread(c.Over(classes)))
		}
		for _, f := range columns {
			line = append(line, viz.Spread(sweep.OverSeeds(c.Rows, f)))
		}
		t.Add(append(line, c.publishedFID(), len(c.Rows), strconv.FormatFloat(sweep.MedianSeconds(c.Rows), 'f', 0, 64))...)
	}
	return t
}

// about is what is to be known of what runs were measured by afterwards, "" for nothing.
func about(f sweep.Metric, cells []cell) string {
	var text []string
	say := func(format string, values ...any) { text = append(text, fmt.Sprintf(format, values...)) }
	if score, ok := strings.CutSuffix(f.Name, latent.ToDecoded); ok {
		say("the %s beside what the autoencoder makes of these held-out images, which has its blur, too: how far latents are apart.", score)
	} else if strings.HasPrefix(f.Name, "fid") {
		beside, biased := "as many held-out ones, the first of the file", ""
		real, fewer := besides(f, cells, latent.FewerReal)
		if fewer {
			beside = fmt.Sprintf("all %g held-out ones", real)
		}
		if fewer || f.Rows < usualImages {
			biased = ", and biased upwards, as that of few images is, for all lines alike"
		}
		say("of %d images, beside %s%s.", f.Rows, beside, biased)
	}
	if f.Name == latent.NearerPrivate {
		say("the share of points that are nearer to a private row than to any held-out one. It is no release: private rows were looked at, outside of ε.")
	}
	if few, of := seedsOf(cells, f); few < of {
		say("Some lines have it of fewer seeds, %d of %d at least, and of one where there is no ±.", few, of)
	}
	for _, beside := range []struct{ suffix, says string }{
		{" of reconstructions", "The autoencoder's reconstructions of the held-out images themselves are at %.4g."},
		{" without copying", "Without copying it is %.4g."},
		{latent.OfPublic, "Of real public latents %.4g are, from which nothing was copied."},
		{" floor", "As many real public images are at %.4g."},
	} {
		if mean, ok := besides(f, cells, beside.suffix); ok {
			say(beside.says, mean)
		}
	}
	if text == nil {
		return ""
	}
	return fmt.Sprintf("%v: %s", f, strings.Join(text, " "))
}

// some takes eight of the images, evenly, for those of one class lie together.
func some(grid viz.Images) viz.Images {
	const lines, each = 2, 4
	size := grid.Height * grid.Width * max(1, grid.Channels)
	all := len(grid.X) / size
	var x []float32
	for i := range min(lines*each, all) {
		k := i * all / min(lines*each, all)
		x = append(x, grid.X[k*size:(k+1)*size]...)
	}
	grid.X, grid.Cols, grid.Scale = x, each, 1
	return grid
}

// picturesOf is 003's Figures 2 to 4 in one: methods by proved ε, and what the
// autoencoder makes of held-out images. With the papers' own noise (published) it is by the
// ε that they claim, and above each is what is proved.
func picturesOf(name string, cells []cell, published bool, samples sweep.Samples) (viz.Panels, bool) {
	f, column := viz.Panels{Title: "Decoded, " + dataset.Title(name)}, "ε = "
	if published {
		f.Title, column = f.Title+", with the paper's own noise", "for a claimed "+column
	}
	cells = slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.published != published || c.printed })
	var budgets []privacy.Epsilon
	for _, c := range cells { // in falling order
		if !slices.Contains(budgets, c.epsilon) {
			budgets = append(budgets, c.epsilon)
			f.Cols = append(f.Cols, column+c.epsilon.String())
		}
	}
	found := false
	for _, method := range methods {
		row, above := make([]viz.Figure, len(budgets)), make([]string, len(budgets))
		shown := false
		for _, c := range cells {
			if c.method != method {
				continue
			}
			if grid, ok := samples.First(c.Rows); ok {
				at := slices.Index(budgets, c.epsilon)
				row[at], shown = some(grid), true
				if published {
					above[at] = "proved ε = " + c.proved()
				}
			}
		}
		if shown {
			f.Rows, f.Cells, found = append(f.Rows, method), append(f.Cells, row...), true
			if published {
				f.Above = append(f.Above, above...)
			}
		}
	}
	return f, found
}

// group is some of the methods.
type group struct {
	suffix  string // of the file
	title   string
	methods []string
	beside  string // of the other group, to be compared with; "" for none
}

// groups are all methods, to see who wins, and by what they release, which no reader has
// trouble to tell apart.
var groups = []group{
	{"-all", "all methods", methods[1:], ""}, // swflow is a reference
	{"", "averages, released once", []string{"harmonic-flow", "harmonic-prior", "harmonic-classes", "sketch-flow", "private-normal", "dp-merf"}, ""},
	{"-generators", "generators of averages", []string{"harmonic-generator", "harmonic-classes-generator", "sketch-generator", "dp-merf"}, "harmonic-flow"},
	{"-projections", "every record's projections", []string{"sw-generator", "dpswflow-r", "dpswflow", "dpswgen"}, "harmonic-flow"},
}

// places are where methods stand among colours and markers: in all figures alike, and in no
// group two with one colour, of which there are seven.
var places = []string{
	"harmonic-flow", "harmonic-prior", "harmonic-classes", "sketch-flow", "private-normal", "dp-merf", "harmonic-generator",
	"", "harmonic-classes-generator", "sw-generator", "dpswflow-r", "dpswflow", "dpswgen",
	"", "", "", "", "sketch-generator",
}

// measure is what a figure shows over ε.
type measure struct {
	file, title, metric string
	ideal               float64 // which a linear axis marks; 0 of a distance, whose axis is logarithmic
}

var measures = []measure{
	{"sliced", "Sliced W₂ to held-out latents", "sliced W₂", 0},
	{"neighbour", "How often the nearest neighbour knows", "1-NN accuracy", 0.5},
}

// curveOf draws a metric over ε for a group of methods. ε = ∞ is the last place of the
// axis, beyond a dashed line. It returns false if none of them has a value at a finite ε.
func curveOf(cells []cell, g group, of measure, on string) (f viz.Annotated, found bool) {
	least, most := math.Inf(1), 0. // of the finite ε of all methods, so that groups compare
	for _, c := range cells {
		if !math.IsInf(float64(c.epsilon), 1) {
			least, most = min(least, float64(c.epsilon)), max(most, float64(c.epsilon))
		}
	}
	never := 4 * most // where ∞ stands
	low, high := math.Inf(1), 0.
	f.Lines = make([]viz.Line, len(places)) // those that stay empty are not drawn
	for i, method := range places {
		line := lineOf(cells, method, of.metric, never)
		if method != g.beside && !slices.Contains(g.methods, method) || !slices.ContainsFunc(line.X, func(x float64) bool { return x < never }) {
			continue
		}
		f.Lines[i], found = line, found || method != g.beside
		low, high = min(low, slices.Min(line.Y)), max(high, slices.Max(line.High))
	}
	for _, c := range cells {
		if c.method == "swflow" {
			if mean, _ := c.Over(of.metric); !math.IsNaN(mean) {
				f.References = append(f.References, viz.Reference{Name: "swflow, no privacy", Value: mean})
				low = min(low, mean)
			}
		}
	}
	f.Title, f.Height = fmt.Sprintf("%s, %s: %s", of.title, dataset.Title(on), g.title), 440
	f.Caption = "Means over seeds; bands are a standard deviation to both sides. Beyond the dotted line on the right stands what has no noise."
	if of.ideal > 0 {
		f.References = append(f.References, viz.Reference{Name: "ideal", Value: of.ideal})
		low = min(low, of.ideal)
	}
	low, high = roomy(low, high, of.ideal == 0)
	f.X = viz.Axis{Label: "ε, proved", Log: true, Min: min(least, 0.1) / 1.2, Max: 2 * never}
	f.Y = viz.Axis{Label: of.metric, Log: of.ideal == 0, Min: low, Max: high}
	f.Verticals = []float64{never / 2}
	f.Notes = []viz.Note{{X: never / 1.26, Y: low, Text: "ε = ∞"}} // centred
	return f, found
}

// roomy are the ends of an axis that has room for the word on ∞ below.
func roomy(low, high float64, log bool) (float64, float64) {
	if log {
		low, high = roomy(math.Log(low), math.Log(high), false)
		return math.Exp(low), math.Exp(high)
	}
	room := high - low
	return low - 0.12*room, high + 0.03*room
}

// lineOf is a method's metric over ε, with ∞ at never.
func lineOf(cells []cell, method, metric string, never float64) viz.Line {
	line := viz.Line{Name: method}
	for _, c := range cells {
		mean, deviation := c.Over(metric)
		if c.method != method || c.published || c.printed || math.IsNaN(mean) {
			continue
		}
		line.Append(min(float64(c.epsilon), never), mean, deviation)
	}
	return line
}
