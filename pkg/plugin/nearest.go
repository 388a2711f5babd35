package plugin

import (
	"slices"
	"strings"
)

// Nearest returns up to three of names that are closest to name by edit
// distance, and no more than a third of its letters away, or two; names that
// contain it come first. An empty name is near to all.
func Nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		d := EditDistance(strings.ToLower(name), strings.ToLower(n))
		if strings.Contains(n, name) {
			d = 0
		}
		known := slices.ContainsFunc(found, func(c candidate) bool { return c.name == n }) // one name may be of two kinds
		if d <= max(2, len(name)/3) && !known {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	nearest := make([]string, 0, 3)
	for _, c := range found[:min(3, len(found))] {
		nearest = append(nearest, c.name)
	}
	return nearest
}

// EditDistance counts the insertions, deletions and replacements of bytes that
// make b of a (Levenshtein), one row at a time.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := diagonal
			if a[i-1] != b[j-1] {
				substitute++
			}
			diagonal = row[j]
			row[j] = min(substitute, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
