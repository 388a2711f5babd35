package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

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
	if one, other := a.Computed.Split, b.Computed.Split; one != other && one != "" && other != "" {
		differences = append(differences, fmt.Sprintf("split: %s and %s", one, other))
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

// Besides is Unlike as it stands behind a name: " (steps = 100 and 400)", or "".
func (p Part) Besides() string {
	if p.Unlike == "" {
		return ""
	}
	return " (" + p.Unlike + ")"
}

// Over is OverSeeds of a metric that runs measure themselves.
func (p Part) Over(metric string) (mean, deviation float64) {
	return OverSeeds(p.Rows, Metric{Name: metric})
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
type Group[K comparable, C any] struct {
	Key    K
	Config C // settings of the first
	Part
}

// Groups sorts rows by a key that they and their settings give, in the order in which keys
// occur, and tells rows of one key apart that differ in more than their seed (Parts). Rows
// of which key says false are left out.
func Groups[K comparable, C any](rows []Row, key func(Row, C) (k K, asked bool)) (groups []Group[K, C], err error) {
	var keys []K
	of := map[K][]Row{}
	for _, row := range rows {
		var config C
		if err := json.Unmarshal(row.Config, &config); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Run, err)
		}
		k, asked := key(row, config)
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
			g := Group[K, C]{Key: k, Part: part}
			if err := json.Unmarshal(part.Rows[0].Config, &g.Config); err != nil {
				return nil, fmt.Errorf("%s: %w", part.Rows[0].Run, err)
			}
			groups = append(groups, g)
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
