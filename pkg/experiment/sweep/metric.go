package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"molehill/pkg/experiment"
)

// Metric is a number that rows may have, which tables have a column of.
type Metric struct {
	Name string
	Rows int // generated ones that runs were measured by afterwards (experiment.Measure); 0 of what runs measure themselves
}

// String is the name, with the number of rows in brackets.
func (m Metric) String() string {
	if m.Rows == 0 {
		return m.Name
	}
	return fmt.Sprintf("%s (%d)", m.Name, m.Rows)
}

// In is the number that a row has, false if it has none.
func (m Metric) In(row Row) (value float64, ok bool) {
	if m.Rows == 0 {
		value, ok = row.Metrics[m.Name]
		return value, ok
	}
	for _, found := range row.Measured {
		if value, ok = found.Values[m.Name]; ok && found.Rows == m.Rows {
			return value, true
		}
	}
	return 0, false
}

// Further are what rows were measured by afterwards, in the order of their names, but for
// what a table does not keep.
func Further(rows []Row, keep func(name string, found experiment.Measured) bool) []Metric {
	all := map[Metric]bool{}
	for _, row := range rows {
		for _, found := range row.Measured {
			for name := range found.Values {
				if keep(name, found) {
					all[Metric{name, found.Rows}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b Metric) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rows, b.Rows))
	})
}

// OverSeeds returns the mean of a metric over rows that differ in their seed, and its
// standard deviation: NaN without values, and the deviation of one. A mean is NaN and its
// deviation 0 where a value is none, such as a ratio of nothing to nothing.
func OverSeeds(rows []Row, metric Metric) (mean, deviation float64) {
	var values []float64
	for _, row := range rows {
		if v, ok := metric.In(row); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range values {
		if math.IsNaN(v) {
			return math.NaN(), 0
		}
	}
	return stat.MeanStdDev(values, nil)
}

// MedianSeconds is how long runs took that differ in their seed: the median, for a
// machine may sleep. It is NaN without rows.
func MedianSeconds(rows []Row) float64 {
	if len(rows) == 0 {
		return math.NaN()
	}
	all := make([]float64, len(rows))
	for i, row := range rows {
		all[i] = row.Seconds
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// AboutData says, for the caption of a table that is called by its data set, what the data
// of rows are where that is not all of it: " The data: celeba (the half-size sample)." or "".
func AboutData(rows []Row, dataset string) string {
	if origin := rows[0].Computed.Data; origin != "" && origin != dataset {
		return " The data: " + origin + "."
	}
	return ""
}
