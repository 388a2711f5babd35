package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// Metric reads a number of a row, false if the row has none.
type Metric func(Row) (float64, bool)

// OwnMetric is one that runs measure themselves.
func OwnMetric(name string) Metric {
	return func(row Row) (float64, bool) {
		v, ok := row.Metrics[name]
		return v, ok
	}
}

// FurtherMetric is one of Measure's, by so many generated rows.
func FurtherMetric(name string, rows int) Metric {
	return func(row Row) (float64, bool) {
		for _, m := range row.Measured {
			if v, ok := m.Values[name]; ok && m.Rows == rows {
				return v, true
			}
		}
		return 0, false
	}
}

// OverSeeds returns the mean of a metric over rows that differ in their seed, and its
// standard deviation: NaN without values, and the deviation of one.
func OverSeeds(rows []Row, metric Metric) (mean, deviation float64) {
	var values []float64
	for _, row := range rows {
		if v, ok := metric(row); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN()
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

// ShowSpread writes what OverSeeds returns, as tables have it: "" without values.
func ShowSpread(mean, deviation float64) string {
	switch {
	case math.IsNaN(mean):
		return ""
	case math.IsNaN(deviation):
		return strconv.FormatFloat(mean, 'g', 4, 64)
	}
	return fmt.Sprintf("%.4g ± %.2g", mean, deviation)
}
