package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usualMissing are texts that often stand for no value.
var usualMissing = []string{"?", "-", "NA", "N/A", "n/a", "n.a.", "#N/A", "NaN", "nan", "null", "NULL", "None"}

// draftValues is how many different values of a column a draft looks at: a column
// of more names than MaxValues has none to list.
const draftValues = 20_000

// Most names that a draft takes for categories, and most whole numbers that it
// takes for names.
const (
	draftCategories = 60
	draftChoices    = 2
)

// Draft reads a whole table and writes the schema that it seems to have.
//
// Ranges and categories are those of the records, and as private as these: no
// column of a draft is public, and each says in its note what a person has to
// decide. A draft is for the keeper of the records.
func Draft(ctx context.Context, name string, source Source, separator string) (*Schema, error) {
	if err := checkSingle(source); err != nil {
		return nil, err
	}
	header := source.Header()
	seen := make([]*seenColumn, len(header))
	for i := range seen {
		seen[i] = newSeenColumn(source.Texts(i))
	}
	rows := 0
	for ; ; rows++ {
		if rows%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := source.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, c := range seen {
			c.add(strings.TrimSpace(row[i]))
		}
	}
	if rows == 0 {
		return nil, errors.New("it has no rows; expected at least one below the header")
	}
	s := &Schema{Name: name, Separator: separator}
	for i, c := range seen {
		column := c.draft(header[i], rows)
		if err := source.Unread(i); err != nil {
			column.Note = err.Error()
		}
		s.Columns = append(s.Columns, column)
		if column.Kind == Exclude { // of which nobody confirms anything
			continue
		}
		for _, text := range c.absent() {
			if !slices.Contains(s.Missing, text) {
				s.Missing = append(s.Missing, text)
			}
		}
	}
	slices.Sort(s.Missing)
	// A last column of few names is what people most often want to predict.
	if last := s.Columns[len(s.Columns)-1]; last.Kind == Categorical && len(last.Values) <= 10 {
		s.Target = last.Name
	}
	return s, nil
}

// DraftFile drafts the schema of the table in a file; see Draft. Between the values of a
// CSV stands what its first line has most.
func DraftFile(ctx context.Context, name, path string) (*Schema, error) {
	source, err := Open(path, "")
	if err != nil {
		return nil, err
	}
	s, err := Draft(ctx, name, source, Separator(source))
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// NamedLikeValues returns the columns whose names are numbers or days, as they are
// where a file has no line of names and the first record stands in its place.
func (s *Schema) NamedLikeValues() (names []string) {
	for _, c := range s.Columns {
		seen := newSeenColumn(true)
		if seen.add(c.Name); seen.number().count > 0 || len(seen.days) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// Separator returns what stands between the values of a source, "" unless it is CSV
// with another than a comma, and nothing else, such as the file's ending, says which.
func Separator(source Source) string {
	if s, ok := source.(*csvSource); ok && !s.given && s.reader.Comma != ',' {
		return string(s.reader.Comma)
	}
	return ""
}

const confirm = "set \"public\" to true when that is known without looking at the records"

// draft says what a column seems to be.
func (c *seenColumn) draft(name string, rows int) Column {
	column := Column{Name: name, Missing: c.missing > 0}
	present := rows - c.missing
	different := len(c.values) - len(c.absent())
	day := c.day()
	// A few texts among numbers, or days, are slips of who wrote them down.
	number := c.number()
	others := c.others(number)
	numbers := most(number.count, present) && different-len(others) > draftChoices && !c.spelt(number)
	switch {
	case present == 0:
		column.Kind, column.Missing, column.Note = Exclude, false, "it has no values"
	case day != "" && most(c.days[day], present) && (day != "YYYYMMDD" || plausible(c.first[day]) && plausible(c.last[day])):
		c.draftDays(&column, day, present)
	case number.count == present && different <= draftChoices:
		column.Kind, column.Values = Categorical, c.names()
		column.Note = "the values are those of the records: write all that are possible; " + confirm
	case numbers && c.identifies(number, different, present):
		column.Kind, column.Missing = Exclude, false
		column.Note = "(nearly) every row has another whole number, as identifiers do, which must not be in synthetic data; if it is a quantity, write \"kind\": \"numeric\" with low and high"
		if number.format != "" {
			column.Note += fmt.Sprintf(", and \"format\": %q", number.format)
		}
	case numbers:
		low, high := widen(number.low, number.high)
		column.Kind, column.Decimals, column.Low, column.High = Numeric, min(number.decimals, usualDecimals(low, high)), &low, &high
		column.Format = number.format
		for column.Decimals > 0 && max(-low, high) > mostSteps(column.Decimals) {
			column.Decimals--
		}
		if err := column.Check(); err != nil { // identifiers of many digits, more often than not
			return Column{Name: name, Kind: Exclude, Note: fmt.Sprintf("numbers that no column can have: %v; if it is a quantity, save it in another unit", err)}
		}
		column.Note = "low and high are those of the records, widened: write those that are possible; " + confirm
		if number.decimals > column.Decimals {
			column.Note = fmt.Sprintf("numbers have up to %d decimals, of which %d are kept; %s", number.decimals, column.Decimals, column.Note)
		}
		if number.format != "" {
			column.Note = fmt.Sprintf("format is how 1234.5 would be written here, as it seems; %s", column.Note)
		}
		if number.low >= 0 && c.skewed(number) {
			column.Scale = "log"
			column.Note = "most values are small and some large, hence the log scale; " + column.Note
		}
		if c.thousands(number) {
			column.Note = "1.234 is read as one and a bit; if it is a thousand, write \"format\": \"1.234,5\", and low and high anew; " + column.Note
		}
		column.slips(present-number.count, present, "numbers", others)
	case !c.many && different <= draftCategories && different <= max(2, present/2):
		column.Kind, column.Values = Categorical, c.names()
		column.Note = "the values are those of the records: write all that are possible; " + confirm
	default:
		column.Kind, column.Missing = Exclude, false
		column.Note = "free text, names or identifiers, which must not be in synthetic data; if it is a choice, write \"kind\": \"categorical\" with all values that are possible"
	}
	return column
}

// draftDays says which days a column has.
func (c *seenColumn) draftDays(column *Column, format string, present int) {
	column.Kind = Date
	column.First, column.Last = widenDays(c.first[format], c.last[format])
	if format != formats[0] {
		column.Format = format
	}
	column.Note = "first and last are the years of the records: write those that are possible; " + confirm
	for _, other := range formats {
		if other != format && c.days[other] == c.days[format] {
			column.Note = fmt.Sprintf("read as %s, and all could as well be %s: if they are, write that as \"format\"; %s", format, other, column.Note)
		}
	}
	others := slices.DeleteFunc(c.names(), func(text string) bool { return isDay(format, text) })
	column.slips(present-c.days[format], present, "days", others)
}

// slips tells of values that are none of what nearly all others are.
func (c *Column) slips(count, present int, what string, texts []string) {
	if count > 0 {
		c.Missing = true
		c.Note = fmt.Sprintf("%d of %d values are not %s, such as %q, and would count as missing; %s", count, present, what, append(texts, "")[0], c.Note)
	}
}

// most reports whether some of the values are all but a few.
func most(some, present int) bool { return 10*some >= 9*present }

// day is the format in which most values are days, the first of several, "" if none are.
func (c *seenColumn) day() (best string) {
	for _, format := range formats {
		if c.days[format] > c.days[best] {
			best = format
		}
	}
	return best
}

// usualDecimals is how many digits after the point a draft gives numbers of a range: six
// and, where all are small, six digits of the largest.
func usualDecimals(low, high float64) int {
	return min(12, max(6, 6-int(math.Ceil(math.Log10(max(-low, high))))))
}

// spelt reports whether whole numbers are written as no quantity is: many of them with a
// zero or a plus sign in front, as postcodes and telephone numbers have.
func (c *seenColumn) spelt(number *seenNumbers) bool {
	if number.decimals > 0 {
		return false
	}
	odd := 0
	for text := range c.values {
		if _, _, ok := number.read(text); ok && (text[0] == '+' || text[0] == '0' && len(text) > 1 && text[1] >= '0' && text[1] <= '9') {
			odd++
		}
	}
	return 20*odd >= len(c.values)
}

// identifies reports whether a column of numbers looks like one of identifiers.
func (c *seenColumn) identifies(number *seenNumbers, different, present int) bool {
	return number.decimals == 0 && present >= 20 && (c.many || different == present)
}

// thousands reports whether all that is read with a decimal point could as well be whole
// numbers with points between thousands.
func (c *seenColumn) thousands(number *seenNumbers) bool {
	return number == &c.numbers[0] && number.decimals == 3 && slices.ContainsFunc(c.numbers, func(other seenNumbers) bool {
		return other.group == "." && other.count == number.count
	})
}

// plausible tells days from numbers of eight digits.
func plausible(t time.Time) bool { return t.Year() >= 1850 && t.Year() <= 2150 }

// names are the values of the column, sorted.
func (c *seenColumn) names() []string {
	var names []string
	for text := range c.values {
		if !slices.Contains(usualMissing, text) {
			names = append(names, text)
		}
	}
	slices.Sort(names)
	return names
}

// others are the texts of the column that are not numbers, sorted.
func (c *seenColumn) others(number *seenNumbers) []string {
	return slices.DeleteFunc(c.names(), func(text string) bool {
		_, _, ok := number.read(text)
		return ok
	})
}

// skewed reports whether nine in ten values lie in the lowest fiftieth of the range.
func (c *seenColumn) skewed(number *seenNumbers) bool {
	few, all := 0, 0
	for text, count := range c.values {
		if v, _, ok := number.read(text); ok {
			all += count
			if v-number.low <= (number.high-number.low)/50 {
				few += count
			}
		}
	}
	return all > 0 && few*10 >= all*9 && number.high-number.low >= 100
}

// widen rounds a range outwards to one or two digits, so that a draft at least does
// not tell its ends.
func widen(low, high float64) (float64, float64) {
	if low == high {
		return low - 1, high + 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	if (high-low)/step < 5 {
		step /= 2
	}
	if step >= 10 {
		step = math.Round(step)
	}
	return round(math.Floor(low/step) * step), round(math.Ceil(high/step) * step)
}

// round removes what floating point adds to a short decimal.
func round(v float64) float64 {
	short, _ := strconv.ParseFloat(fmt.Sprintf("%.12g", v), 64) // it has just been written
	return short
}

// widenDays rounds a range of days outwards to years.
func widenDays(first, last time.Time) (string, string) {
	return time.Date(first.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), time.Date(last.Year(), 12, 31, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
