package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seenColumn is what a draft has seen of a column.
type seenColumn struct {
	values  map[string]int // how often each text came, of at most draftValues
	many    bool           // there are more
	missing int
	numbers []seenNumbers  // by notation
	days    map[string]int // how many texts are days, by format
	first   map[string]time.Time
	last    map[string]time.Time
}

// seenNumbers is what a draft has seen of a column, read in one notation.
type seenNumbers struct {
	format string
	notation
	count     int
	low, high float64
	decimals  int
}

func newSeenColumn(texts bool) *seenColumn {
	c := &seenColumn{values: map[string]int{}, days: map[string]int{}, first: map[string]time.Time{}, last: map[string]time.Time{}}
	for _, format := range notations {
		c.numbers = append(c.numbers, seenNumbers{format: format, notation: notationOf(format), low: math.Inf(1), high: math.Inf(-1)})
		if !texts {
			break
		}
	}
	c.numbers[0].format = "" // the default
	return c
}

// number returns what was seen in the notation in which most values are numbers, the first
// of several.
func (c *seenColumn) number() *seenNumbers {
	best := &c.numbers[0]
	for i := range c.numbers {
		if c.numbers[i].count > best.count {
			best = &c.numbers[i]
		}
	}
	return best
}

// read reads a finite number.
func (n *seenNumbers) read(text string) (v float64, plain string, ok bool) {
	v, plain, err := n.parse(text)
	return v, plain, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// add looks at a text, for its value too if that may be a new one.
func (n *seenNumbers) add(text string, ends bool) {
	v, plain, ok := n.read(text)
	if !ok {
		return
	}
	if n.count++; !ends {
		return
	}
	n.low, n.high = min(n.low, v), max(n.high, v)
	if strings.ContainsAny(plain, "eE") {
		plain = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if _, decimals, ok := strings.Cut(plain, "."); ok {
		n.decimals = max(n.decimals, len(decimals))
	}
}

func (c *seenColumn) add(text string) {
	if text == "" {
		c.missing++
		return
	}
	if _, ok := c.values[text]; ok || len(c.values) < draftValues {
		if !ok {
			text = strings.Clone(text)
		}
		c.values[text]++
		if ok {
			// What it is was seen the first time; only counts change.
			c.count(text, false)
			return
		}
	} else {
		c.many = true
	}
	c.count(text, true)
}

// count looks at what a text may be.
func (c *seenColumn) count(text string, ends bool) {
	if slices.Contains(usualMissing, text) {
		c.missing++
		return
	}
	for i := range c.numbers {
		c.numbers[i].add(text, ends)
	}
	if len(text) < 8 || len(text) > 30 {
		return
	}
	for _, format := range formats {
		t, ok := readDay(format, text)
		if !ok {
			continue
		}
		c.days[format]++
		if first, ok := c.first[format]; !ok || t.Before(first) {
			c.first[format] = t
		}
		if t.After(c.last[format]) {
			c.last[format] = t
		}
	}
}

// readDay reads a day in a format, with a time of day behind it if it is the default one.
func readDay(format, text string) (time.Time, bool) {
	layout := layouts[format]
	t, err := time.Parse(layout, text[:min(len(text), len(layout))])
	return t, err == nil && (len(text) == len(layout) || format == formats[0])
}

func isDay(format, text string) bool {
	_, ok := readDay(format, text)
	return ok
}

// absent returns the texts of the column that stand for no value.
func (c *seenColumn) absent() (texts []string) {
	for _, text := range usualMissing {
		if c.values[text] > 0 {
			texts = append(texts, text)
		}
	}
	return texts
}
