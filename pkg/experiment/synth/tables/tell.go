package tables

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/tables/pairs"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Tell implements Method. It compares the synthetic table with what was released.
func (m *byPairs) Tell(_ privacy.Statement, codes [][]table.Code) (report.Section, run.Values, error) {
	made, err := m.layout.Of(codes)
	if err != nil {
		return report.Section{}, nil, err
	}
	compared, c := m.repaired.Compare(made), m.config
	values := run.Values{
		"columns, distance to the release": pairs.Mean(compared.Columns),
		"pairs, distance to the release":   pairs.Mean(compared.Pairs),
		"rows":                             rowsOf(codes),
	}
	return report.Section{Heading: "What was released, and how near the synthetic table is",
		Text: append([]string{
			fmt.Sprintf("Released were counts of the values of each column and of each pair of columns. The noise on a count has a standard deviation of %.4g rows for a column, %.4g for a pair, and %.4g for a pair with the target.", m.std/c.Singles, m.std, m.std/c.Emphasis),
			fmt.Sprintf("The distances are total variations: the share of rows that would have to move. The mean over the columns is %.4f, over the pairs %.4f. They compare with the release, not with the rows, and so cost nothing; the distance to the rows themselves is larger, by what the noise did.", pairs.Mean(compared.Columns), pairs.Mean(compared.Pairs)),
		}, undrawn(m.columns)...),
		Figures: append(marginals(m.columns, m.repaired, made, "released"), associations(m.columns, m.layout, compared, "released")),
		Tables:  []viz.Table{columnTable(m.columns, compared), pairTable(m.columns, m.layout, compared, "released")},
	}, values, nil
}

// Tell implements Method. A sketch's directions say nothing to people.
func (m *bySketch) Tell(statement privacy.Statement, codes [][]table.Code) (report.Section, run.Values, error) {
	return report.Section{Heading: "What was released", Text: []string{
		fmt.Sprintf("Released were the means of %d equal shares of the rows along each of %d directions, each with noise of a standard deviation of %.3g. The synthetic rows are particles that followed them.", m.config.Bins, m.directions.Count, statement.NoiseStd),
	}}, run.Values{"rows": rowsOf(codes)}, nil
}

// Tell tells of the synthetic table.
func (k known) Tell(_ context.Context, _ *run.Run, n int, codes [][]table.Code, released report.Section) (synth.Told, error) {
	made := k.table(codes)
	return synth.Told{
		Record: "row", Released: released, Declared: declared(k.schema),
		Summary: fmt.Sprintf("A synthetic table of %d rows and %d columns, made of a private table of %d rows", made.Len(), len(made.Columns), n),
		Unseen:  "This report looks at the release and the synthetic table, and at no record. What compares with the records is not private; it is in another report, for their keeper.",
		Note:    "these look at what was released and at nothing else; what looks at the records is in " + synth.KeeperFolder + ", if their keeper has asked for it",
	}, nil
}

// declared is the section of what the schema declares: of columns that are excluded
// nobody has confirmed even the names.
func declared(schema *table.Schema) report.Section {
	t := viz.Table{Header: []string{"column", "declared public"}}
	columns := schema.Modelled()
	for _, c := range columns {
		t.Add(c.Name, c.Describe())
	}
	s := report.Section{Heading: "What was declared public", Tables: []viz.Table{t},
		Text: []string{"Whoever confirmed the schema has said that this is known without looking at the records. If any of it was read off them, the promise does not hold for it."}}
	if left := len(schema.Columns) - len(columns); left > 0 {
		s.Text = append(s.Text, fmt.Sprintf("Columns of the private table that were left out, and not looked at: %d.", left))
	}
	if len(schema.Missing) > 0 {
		s.Text = append(s.Text, "Texts that stood for no value in the private table: "+schema.MissingTexts()+".")
	}
	if schema.Target != "" {
		s.Text = append(s.Text, fmt.Sprintf("The column to predict is %s: pairs with it have less noise.", schema.Target))
	}
	return s
}

// columnTable lists the columns by distance.
func columnTable(columns []table.Column, c pairs.Comparison) viz.Table {
	t := viz.Table{Title: "Columns", Header: []string{"column", "distance"}}
	for _, j := range descending(c.Columns) {
		t.Add(columns[j].Name, c.Columns[j])
	}
	return t
}

// shownPairs is how many pairs a report lists.
const shownPairs = 15

// pairTable lists the pairs that differ most.
func pairTable(columns []table.Column, l *pairs.Layout, c pairs.Comparison, from string) viz.Table {
	t := viz.Table{Title: "Pairs that differ most", Header: []string{"pair", "distance", "association, " + from, "association, synthetic"},
		Caption: "Association is Cramér's V: 0 for independent columns, 1 if one tells the other."}
	for _, p := range descending(c.Pairs)[:min(shownPairs, len(c.Pairs))] {
		t.Add(pairName(columns, l, p), c.Pairs[p], c.V[p], c.OtherV[p])
	}
	return t
}

func pairName(columns []table.Column, l *pairs.Layout, p int) string {
	of := l.Tables[len(l.Columns)+p]
	return columns[of.A].Name + " × " + columns[of.B].Name
}

// descending returns the places of values, the largest first.
func descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// associations draws the strongest associations of both sides.
func associations(columns []table.Column, l *pairs.Layout, c pairs.Comparison, from string) viz.Figure {
	f := viz.Dots{Title: "The strongest associations", X: viz.Axis{Label: "Cramér's V", Min: 0, Max: 1}, Conditions: []string{from, "synthetic"}}
	for _, p := range descending(c.V)[:min(shownPairs, len(c.V))] {
		f.Rows = append(f.Rows, pairName(columns, l, p))
		f.Values = append(f.Values, []float64{c.V[p], c.OtherV[p]})
	}
	if len(f.Rows) == 0 { // one column has no pairs
		f.Rows, f.Values = []string{"no pairs"}, [][]float64{{0, 0}}
	}
	return f
}

// Most columns and values of one that a report draws.
const (
	shownColumns = 24
	shownValues  = 16
)

// undrawn says that some columns are not drawn, if there are too many of them.
func undrawn(columns []table.Column) []string {
	if len(columns) <= shownColumns {
		return nil
	}
	return []string{fmt.Sprintf("Drawn are the first %d of %d columns; the table has all of them.", shownColumns, len(columns))}
}

// marginals draws the first columns on both sides: numbers as curves, names as dots.
func marginals(columns []table.Column, a, b *pairs.Repaired, from string) (figures []viz.Figure) {
	for j, c := range columns[:min(shownColumns, len(columns))] {
		x, y := percent(a.Groups[j]), percent(b.Groups[j])
		if c.Ordered() && c.Kind != table.Ordinal {
			figures = append(figures, histogram(c, x, y, from))
			continue
		}
		f := viz.Dots{Title: c.Name, X: viz.Axis{Label: "share of the rows (%)", Min: 0}, Conditions: []string{from, "synthetic"}, Width: 620}
		order := slices.DeleteFunc(descending(x), func(g int) bool { return g == 0 && !c.Missing })
		if len(order) > shownValues {
			order = order[:shownValues]
			f.Caption = fmt.Sprintf("The %d most frequent of %d values.", shownValues, len(c.Values))
		}
		if c.Kind == table.Ordinal {
			slices.Sort(order)
		}
		for _, g := range order {
			f.Rows = append(f.Rows, c.GroupLabel(table.Code(g)))
			f.Values = append(f.Values, []float64{x[g], y[g]})
		}
		figures = append(figures, f)
	}
	return figures
}

func percent(shares []float64) []float64 {
	out := slices.Clone(shares)
	for i := range out {
		out[i] *= 100
	}
	return out
}

// histogram draws the groups of a column of numbers or days as stairs.
func histogram(c table.Column, x, y []float64, from string) viz.Figure {
	f := viz.Curves{Title: c.Name, Y: viz.Axis{Label: "share of the rows (%)", Min: 0, Max: 1.1 * max(slices.Max(x), slices.Max(y), 1e-9)}, Width: 620, Height: 260}
	edges := make([]float64, c.Groups()+1)
	for g := range edges {
		edges[g] = c.Edge(g)
	}
	f.X.Label = c.Name
	if c.Kind == table.Date {
		f.X.Label = "year"
	} else if c.Scale == "log" {
		f.X.Label = "log₁₀(1 + (" + c.Name + " − low)/unit)"
		for g := range edges {
			edges[g] = math.Log10(1 + (edges[g]-*c.Low)/c.LogUnit())
		}
	}
	for _, side := range []struct {
		name   string
		values []float64
	}{{from, x}, {"synthetic", y}} {
		line := viz.Line{Name: side.name}
		for g := range c.Groups() {
			line.X = append(line.X, edges[g], edges[g+1])
			line.Y = append(line.Y, side.values[g+1], side.values[g+1])
		}
		f.Lines = append(f.Lines, line)
	}
	if c.Missing {
		f.Caption = fmt.Sprintf("Missing: %.2f %% %s, %.2f %% synthetic.", x[0], from, y[0])
	}
	return f
}
