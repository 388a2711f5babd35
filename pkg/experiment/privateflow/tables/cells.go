package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/experiment/privateflow"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/metric"
	"molehill/privacy"
)

// key is what runs of a cell have in common.
type key struct {
	method, dataset string
	epsilon         privacy.Epsilon // that was asked for
	published       bool            // with the paper's noise: epsilon is what it claims
	printed         bool            // with ψ′ where the text has it, which is not the gradient
}

// cell are runs of one method, data set and ε.
type cell struct {
	key
	points int // that its first run made
	sweep.Part
}

// name is what the table calls it.
func (c cell) name() string {
	name := c.method
	if c.published {
		name += ", the paper's noise"
	}
	if c.printed {
		name += ", as printed"
	}
	return name + c.Besides()
}

// proved is the ε that holds: the largest of the runs', whose directions differ.
func (c cell) proved() string {
	if !c.published {
		return c.epsilon.String()
	}
	proved, _ := sweep.Claims(c.Rows)
	return proved.String()
}

// cells pools rows that differ in their seed alone: those of other settings or data, which
// may have come from elsewhere, make cells of their own.
func cells(rows []sweep.Row) ([]cell, error) {
	groups, err := sweep.Groups(rows, func(row sweep.Row, c privateflow.Config) (key, bool) {
		printed := slices.Contains(projected, row.Experiment) && !math.IsInf(float64(c.Epsilon), 1) && !c.NoisyEvaluation
		return key{row.Experiment, c.Dataset, c.Epsilon, c.Published, printed}, true
	})
	var all []cell
	for _, g := range groups {
		all = append(all, cell{g.Key, g.Config.Particles, g.Part})
	}
	return all, err
}

// distances are what runs may have been measured by, in the order of their columns.
var distances = []string{
	metric.FID.Describe().Name, metric.FID.Describe().Name + latent.ToDecoded,
	metric.FID768.Describe().Name, metric.FID768.Describe().Name + latent.ToDecoded,
	latent.PixelW2, latent.NearerPrivate,
}

// measured returns those that any of the runs was measured by, in order.
func measured(cells []cell) []sweep.Metric {
	var rows []sweep.Row
	for _, c := range cells {
		rows = append(rows, c.Rows...)
	}
	found := sweep.Further(rows, func(name string, _ experiment.Measured) bool { return slices.Contains(distances, name) })
	slices.SortFunc(found, func(a, b sweep.Metric) int {
		return cmp.Or(cmp.Compare(slices.Index(distances, a.Name), slices.Index(distances, b.Name)), -cmp.Compare(a.Rows, b.Rows))
	})
	return slices.CompactFunc(found, func(a, b sweep.Metric) bool { // of all distances to decoded images that of the most
		return a.Name == b.Name && strings.HasSuffix(a.Name, latent.ToDecoded)
	})
}

// seedsOf is of how many runs of a cell a metric was measured, of how many there are: in
// the cell where most are left out.
func seedsOf(cells []cell, metric sweep.Metric) (measured, all int) {
	for _, c := range cells {
		count := 0
		for _, row := range c.Rows {
			if _, ok := metric.In(row); ok {
				count++
			}
		}
		if count > 0 && (measured == 0 || len(c.Rows)-count > all-measured) {
			measured, all = count, len(c.Rows)
		}
	}
	return measured, all
}

// besides is a value that stands beside a measured one for comparison, the same for all
// methods: that of the first cell that has it, false if none does.
func besides(f sweep.Metric, cells []cell, suffix string) (float64, bool) {
	for _, c := range cells {
		if mean, _ := sweep.OverSeeds(c.Rows, sweep.Metric{Name: f.Name + suffix, Rows: f.Rows}); !math.IsNaN(mean) {
			return mean, true
		}
	}
	return 0, false
}

// paperSays is the ε of the paper's own accounting for the noise of the runs.
func (c cell) paperSays() string {
	claims := slices.DeleteFunc(slices.Clone(c.Rows[0].Claims), func(claim privacy.Claim) bool { return claim.Sound })
	if len(claims) == 0 {
		return ""
	}
	// With the paper's own noise what it prints may stand before what its formulas say.
	own := max(0, slices.IndexFunc(claims, func(claim privacy.Claim) bool { return claim.Label == privacy.PapersWay }))
	return fmt.Sprintf("%.3g", float64(claims[own].Epsilon))
}

func (c cell) publishedFID() string {
	if fid, ok := publishedFID[c.dataset][c.method][c.epsilon]; ok {
		return strconv.FormatFloat(fid, 'f', -1, 64)
	}
	return ""
}
