package sheet

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Axis is one direction of a chart.
type Axis struct {
	Label      string
	Log        bool
	Min, Max   float64  // what the axis spans
	Categories []string // names of 0, 1, 2, …, in place of numbers
}

// plottable bounds the magnitude of a value that is drawn: differences of two such values stay finite.
const plottable = 1e150

// Range collects what an axis must span and counts what it cannot show.
type Range struct {
	Log                    bool
	Min, Max               float64
	notFinite, notPositive int
	used                   bool
}

// Add includes v and reports whether it can be drawn: finite and, on a logarithmic axis, positive.
func (r *Range) Add(v float64) bool {
	switch {
	case math.IsNaN(v) || math.Abs(v) > plottable:
		r.notFinite++
		return false
	case r.Log && v < 1/plottable:
		r.notPositive++
		return false
	}
	if !r.used {
		r.Min, r.Max, r.used = v, v, true
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
	return true
}

// Empty reports whether nothing was included.
func (r *Range) Empty() bool { return !r.used }

// Count adds what another range could not show to what this one could not.
func (r *Range) Count(other Range) {
	r.notFinite += other.notFinite
	r.notPositive += other.notPositive
}

// Notes says what was left out, in words for below the picture.
func (r *Range) Notes() (notes []string) {
	if r.notFinite > 0 {
		notes = append(notes, fmt.Sprintf("Not drawn: %s that %s not finite.",
			Count(r.notFinite, "value"), plural(r.notFinite, "is", "are")))
	}
	if r.notPositive > 0 {
		notes = append(notes, fmt.Sprintf("Not drawn: %s ≤ 0, which a logarithmic axis cannot show.",
			Count(r.notPositive, "value")))
	}
	return notes
}

// Count writes "1 value", "2 values".
func Count(n int, noun string) string { return fmt.Sprintf("%d %s%s", n, noun, plural(n, "", "s")) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Axis returns an axis that spans the range with a little room at the ends, or from low to high where
// these are finite and in order (the caller's own choice; equal values mean none).
func (r *Range) Axis(label string, low, high float64) Axis {
	a := Axis{Label: label, Log: r.Log, Min: r.Min, Max: r.Max}
	if low < high && !Close(low, high) && math.Abs(low) <= plottable && math.Abs(high) <= plottable && (!r.Log || low > 1/plottable) {
		a.Min, a.Max = low, high
		return a
	}
	if a.Log {
		if Close(a.Min, a.Max) {
			a.Min, a.Max = a.Min/2, a.Max*2
		}
		room := math.Exp(0.04 * (math.Log(a.Max) - math.Log(a.Min)))
		a.Min, a.Max = a.Min/room, a.Max*room
		return a
	}
	if Close(a.Min, a.Max) {
		room := max(math.Abs(a.Min)/10, 0.5)
		a.Min, a.Max = a.Min-room, a.Max+room
		return a
	}
	if a.Min >= 0 && a.Min < a.Max/4 {
		a.Min = 0 // a length is judged from zero
	}
	room := 0.04 * (a.Max - a.Min)
	if a.Min != 0 {
		a.Min -= room
	}
	a.Max += room
	return a
}

// Close reports whether two values are too near to each other for ticks between them.
func Close(low, high float64) bool {
	return high-low < max(1e-9*math.Abs(low), 1e-9*math.Abs(high), 1/plottable)
}

// scale returns the transform of gonum for this axis.
func (a Axis) scale() plot.Normalizer {
	if a.Log {
		return plot.LogScale{}
	}
	return plot.LinearScale{}
}

// ticks returns about n labelled ticks, and unlabelled ones between them on a logarithmic axis.
func (a Axis) ticks(n int) []plot.Tick {
	switch {
	case a.Categories != nil:
		ticks := make([]plot.Tick, len(a.Categories))
		for i, name := range a.Categories {
			ticks[i] = plot.Tick{Value: float64(i), Label: name}
		}
		return ticks
	case a.Log:
		return a.logTicks(max(n, 2))
	}
	return a.linearTicks(n)
}

func (a Axis) linearTicks(n int) (ticks []plot.Tick) {
	step := niceStep((a.Max - a.Min) / float64(max(n, 2)))
	for k := math.Ceil(a.Min/step - 1e-9); k*step <= a.Max+1e-9*step; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: Number(k*step, step)})
	}
	return ticks
}

// niceStep returns the smallest of 1, 2, 2.5, 5 × 10ⁿ that is at least step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks returns powers of ten, and digits between them where there is room. Where fewer than two of them lie
// on the axis, and no eye could judge a distance, or fewer than three within a decade, which would pass for a
// linear axis, there are more of them, or at last round numbers.
func (a Axis) logTicks(n int) (ticks []plot.Tick) {
	low, high := int(math.Floor(math.Log10(a.Min))), int(math.Ceil(math.Log10(a.Max)))
	decades := math.Log10(a.Max) - math.Log10(a.Min)
	stride := int(math.Ceil(decades / float64(n)))
	label := func(m, exponent int) string {
		if low >= -4 && high <= 5 {
			v := float64(m) * math.Pow10(exponent)
			return Number(v, v)
		}
		if m == 1 {
			return "10" + raised(exponent)
		}
		return fmt.Sprintf("%d×10%s", m, raised(exponent))
	}
	labelled := 0
	for exponent := low; exponent <= high; exponent++ {
		for m := 1; m <= 9; m++ {
			t := plot.Tick{Value: float64(m) * math.Pow10(exponent)}
			if t.Value < a.Min*(1-1e-9) || t.Value > a.Max*(1+1e-9) {
				continue
			}
			switch {
			case m == 1 && (exponent-low)%stride == 0,
				decades < 2.5 && (m == 2 || m == 5),
				decades < 0.7: // within less than a decade every digit helps
				t.Label = label(m, exponent)
				labelled++
			case stride > 1:
				continue
			}
			ticks = append(ticks, t)
		}
	}
	switch {
	case labelled > 2 || labelled == 2 && decades >= 1:
		return ticks
	case stride > 1:
		return a.logTicks(n + 1)
	}
	return a.linearTicks(n)
}

// Number writes v with as many decimals as a tick distance of step needs.
func Number(v, step float64) string {
	if v == 0 || math.Abs(v) < 1e-9*math.Abs(step) {
		return "0"
	}
	magnitude := math.Max(math.Abs(v), math.Abs(step))
	if magnitude >= 1e6 || math.Abs(step) < 1e-5 {
		exponent := int(math.Floor(math.Log10(math.Abs(v)) + 1e-9))
		digits := math.Ceil(math.Log10(math.Abs(v/step))) + 2 // a step has one digit or two
		mantissa := strconv.FormatFloat(v/math.Pow(10, float64(exponent)), 'g', int(min(max(digits, 4), 17)), 64)
		if mantissa == "1" {
			return "10" + raised(exponent)
		}
		return minus(mantissa) + "×10" + raised(exponent)
	}
	decimals := 0
	for s := math.Abs(step); decimals < 8 && math.Abs(s-math.Round(s)) > 1e-6*math.Abs(s); s *= 10 {
		decimals++
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if whole, rest, _ := strings.Cut(text, "."); len(strings.TrimPrefix(whole, "-")) > 4 && rest == "" {
		text = whole[:len(whole)-3] + "," + whole[len(whole)-3:]
	}
	return minus(text)
}

// minus sets a true minus sign, as wide as a plus.
func minus(text string) string { return strings.Replace(text, "-", "−", 1) }

// raised writes an exponent in superscripts.
func raised(exponent int) string {
	return strings.Map(func(r rune) rune {
		if r == '-' {
			return '⁻'
		}
		return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0']
	}, strconv.Itoa(exponent))
}
