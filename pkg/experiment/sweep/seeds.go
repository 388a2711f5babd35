package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

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

// Unlike says in what two rows differ that may be of one experiment with two seeds: in which
// settings, "steps = 100 and 400", or in their data. Settings that one of them lacks, as its
// version had none, are not compared, nor are the digest of inputs, which is of a store, and
// where a store is that has the run of weights.
func Unlike(a, b Row) (differences []string, err error) {
	var of [2]map[string]any
	for i, row := range []Row{a, b} {
		if err := json.Unmarshal(row.Config, &of[i]); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", row.Run, err)
		}
		delete(of[i], "inputs")
	}
	for _, name := range slices.Sorted(maps.Keys(of[0])) {
		value, other := of[0][name], of[1][name]
		if name == "weights" && other != nil && sameFile(fmt.Sprint(value), fmt.Sprint(other)) {
			continue
		}
		if other != nil && !reflect.DeepEqual(value, other) {
			differences = append(differences, fmt.Sprintf("%s = %v and %v", name, value, other))
		}
	}
	if one, other := a.Computed.Data, b.Computed.Data; one != other && one != "" && other != "" && ofSeed(a) != ofSeed(b) {
		differences = append(differences, fmt.Sprintf("data: %s and %s", one, other))
	}
	return differences, nil
}

// ofSeed is what a row's data are called, but for its seed, which they may be generated from.
func ofSeed(row Row) string {
	return strings.ReplaceAll(row.Computed.Data, fmt.Sprintf("seed %d", row.Seed), "its seed")
}

// Part are rows that differ in their seed alone.
type Part struct {
	Rows   []Row
	Unlike string // in what they differ from the first part, "" of that
}

// Parts tells rows of one experiment apart that differ in more than their seed: in settings
// or data (Unlike), or in the experiment's version.
func Parts(rows []Row) (parts []Part, err error) {
	for _, row := range rows {
		own, first := -1, ""
		for k, p := range parts {
			differences, err := Unlike(row, p.Rows[0])
			if err != nil {
				return nil, err
			}
			if a, b := row.Version, p.Rows[0].Version; a != b && a != "" && b != "" {
				differences = append(differences, fmt.Sprintf("version %s and %s", a, b))
			}
			if len(differences) == 0 {
				own = k
				break
			}
			if k == 0 {
				first = strings.Join(differences, ", ")
			}
		}
		if own < 0 {
			own, parts = len(parts), append(parts, Part{Unlike: first})
		}
		parts[own].Rows = append(parts[own].Rows, row)
	}
	return parts, nil
}

// Group are rows of one key that differ in their seed alone.
type Group[K comparable] struct {
	Key K
	Part
}

// Groups sorts rows by a key, in the order in which keys occur, and tells rows of one key
// apart that differ in more than their seed (Parts). Rows of which key says false are left
// out.
func Groups[K comparable](rows []Row, key func(Row) (k K, asked bool, err error)) (groups []Group[K], err error) {
	var keys []K
	of := map[K][]Row{}
	for _, row := range rows {
		k, asked, err := key(row)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Run, err)
		}
		if !asked {
			continue
		}
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], row)
	}
	for _, k := range keys {
		parts, err := Parts(of[k])
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			groups = append(groups, Group[K]{k, part})
		}
	}
	return groups, nil
}

// sameFile reports whether two paths may be of one artefact of a run: their ends agree from
// the run's folder on, or as far as the shorter one goes, for what is published of a path is
// the file's name.
func sameFile(a, b string) bool {
	one, other := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	for i := 1; i <= min(3, len(one), len(other)); i++ {
		if one[len(one)-i] != other[len(other)-i] {
			return false
		}
	}
	return true
}

// OverSeeds returns the mean of a metric over rows that differ in their seed, and its
// standard deviation: NaN without values, and the deviation of one. A mean is NaN and its
// deviation 0 where a value is none, such as a ratio of nothing to nothing.
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
