package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/plugin"
)

func init() { Registry.Register(adult{}) }

// AdultSample are records of the Adult database, a sample of the US census of 1994.
// Names of the columns of X are in AdultFeatures.
type AdultSample struct {
	X      []float32 // features without the sex, [n, len(AdultFeatures())], in [0, 1]
	Income []int     // 1 where it is above 50,000 dollars a year, else 0, [n]
	Sex    []int     // 1 for men, 0 for women, [n]
}

// adultColumn is a column of the files, in their order.
type adultColumn struct {
	name string
	// categories are those that adult.names lists; nil for numbers. An unknown value,
	// "?" in the files, is a category of its own in every column.
	categories []string
	// Numbers come from these public limits to [0, 1], by logarithm where amounts
	// span decades; those beyond them are moved to the nearer one. Columns with
	// neither categories nor limits are not used.
	low, high   float64
	logarithmic bool
}

// adultColumns has no statistic of the records in it. Categories are from
// adult.names. So are the lower limits, by its condition of extraction: older than 16
// and working at least one hour a week. The census codes an age of 90 or more as 90,
// two digits for hours and five for gains and losses; there are 16 levels of
// education. The column fnlwgt weights a record within the survey and is left out.
var adultColumns = [...]adultColumn{
	{name: "age", low: 17, high: 90},
	{name: "workclass", categories: list("Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, Never-worked")},
	{name: "fnlwgt"},
	{name: "education", categories: list("Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool")},
	{name: "education-num", low: 1, high: 16},
	{name: "marital-status", categories: list("Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, Married-AF-spouse")},
	{name: "occupation", categories: list("Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, Priv-house-serv, Protective-serv, Armed-Forces")},
	{name: "relationship", categories: list("Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried")},
	{name: "race", categories: list("White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black")},
	{name: "sex"},
	{name: "capital-gain", high: 99999, logarithmic: true},
	{name: "capital-loss", high: 99999, logarithmic: true},
	{name: "hours-per-week", low: 1, high: 99},
	{name: "native-country", categories: list("United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, Vietnam, Mexico, Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, Columbia, Hungary, Guatemala, Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, Trinadad&Tobago, Peru, Hong, Holand-Netherlands")},
	{name: "income"},
}

// list splits a list as adult.names writes them.
func list(values string) []string { return strings.Split(values, ", ") }

const adultUnknown = "?"

// width returns how many features a column gives.
func (c adultColumn) width() int {
	switch {
	case c.categories != nil:
		return len(c.categories) + 1
	case c.high > 0:
		return 1
	}
	return 0
}

// AdultFeatures returns the names of the features of an AdultSample in their order,
// such as "age" and "race=Black".
func AdultFeatures() (names []string) {
	for _, c := range adultColumns {
		switch {
		case c.categories != nil:
			for _, category := range append(slices.Clone(c.categories), adultUnknown) {
				names = append(names, c.name+"="+category)
			}
		case c.width() == 1:
			names = append(names, c.name)
		}
	}
	return names
}

// parseAdult reads a file as adult.data and adult.test are written: a record a line,
// 15 values with commas between them. Empty lines, and those that begin with "|", are
// passed over. Errors name the file and the line.
func parseAdult(content []byte, path string) (AdultSample, error) {
	var s AdultSample
	number := 0
	for line := range bytes.Lines(content) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '|' {
			continue
		}
		if err := s.add(text); err != nil {
			return AdultSample{}, fmt.Errorf("data set %q: %s, line %d: %w; mend that line or fetch the file again", "adult", path, number, err)
		}
	}
	if len(s.Sex) == 0 {
		return AdultSample{}, fmt.Errorf("data set %q: expected records in %s, found none; fetch the file again", "adult", path)
	}
	return s, nil
}

// add adds the record of a line.
func (s *AdultSample) add(line string) error {
	values := strings.SplitN(line, ",", len(adultColumns)+1)
	if len(values) != len(adultColumns) {
		return fmt.Errorf("expected %d values with commas between them, found %s", len(adultColumns), atMost(values))
	}
	for i, c := range adultColumns {
		value := strings.TrimSpace(values[i])
		var err error
		switch {
		case c.name == "sex":
			s.Sex, err = appendChoice(s.Sex, c.name, value, "Female", "Male")
		case c.name == "income":
			s.Income, err = appendChoice(s.Income, c.name, strings.TrimSuffix(value, "."), "<=50K", ">50K")
		case c.categories != nil:
			s.X, err = c.appendCategory(s.X, value)
		case c.width() == 1:
			s.X, err = c.appendNumber(s.X, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// atMost says how many values a line has, of which only so many were looked for.
func atMost(values []string) string {
	if len(values) > len(adultColumns) {
		return "more"
	}
	return strconv.Itoa(len(values))
}

// appendChoice appends 0 for the first of two values and 1 for the second.
func appendChoice(to []int, column, value, zero, one string) ([]int, error) {
	switch value {
	case zero:
		return append(to, 0), nil
	case one:
		return append(to, 1), nil
	}
	return to, fmt.Errorf("expected %s or %s as %s, found %.40q", zero, one, column, value)
}

// appendCategory appends a one in the place of a category and zeros in the others'.
func (c adultColumn) appendCategory(to []float32, value string) ([]float32, error) {
	at := slices.Index(c.categories, value)
	if value == adultUnknown {
		at = len(c.categories)
	}
	if at < 0 {
		return to, fmt.Errorf("expected a %s that adult.names lists, or %s, found %.40q", c.name, adultUnknown, value)
	}
	first := len(to)
	to = append(to, make([]float32, c.width())...)
	to[first+at] = 1
	return to, nil
}

// appendNumber appends a number as it lies between its limits.
func (c adultColumn) appendNumber(to []float32, value string) ([]float32, error) {
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(number) {
		return to, fmt.Errorf("expected a number as %s, found %.40q", c.name, value)
	}
	number = min(max(number, c.low), c.high)
	part := (number - c.low) / (c.high - c.low)
	if c.logarithmic {
		part = math.Log1p(number) / math.Log1p(c.high)
	}
	return append(to, float32(part)), nil
}

// adult is the Adult database, labelled by income. Its published split is kept:
// 32,561 records for training, 16,281 for testing.
type adult struct{}

// adultFiles are those for training and for testing.
var adultFiles = [2]File{
	{
		Path: "adult/adult.data", Size: 3974305, SHA256: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
		Mirrors: []string{"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"},
	},
	{
		Path: "adult/adult.test", Size: 2003153, SHA256: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
		Mirrors: []string{"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test"},
	},
}

func (adult) Describe() plugin.Info {
	return plugin.Info{
		Name:    "adult",
		Summary: "48,842 people of the US census of 1994, labelled by income; features without the sex",
		Version: "1",
		Source:  "Becker & Kohavi 1996, doi.org/10.24432/C5XW20; CC BY 4.0",
	}
}

func (adult) Public() bool { return false }

// Pinned marks rows that the version fixes.
func (adult) Pinned()       {}
func (adult) Files() []File { return slices.Clone(adultFiles[:]) }

// LoadAdult returns the records for training, Options.N of them if it is not 0, and
// those for testing.
func LoadAdult(ctx context.Context, o Options) (train, test AdultSample, err error) {
	all, paths, err := readAdult(ctx, o)
	if err != nil {
		return train, test, err
	}
	rows, err := drawn("adult", len(all[0].Sex), o.N, o.Seed)
	if err != nil {
		return train, test, fmt.Errorf("%s: %w", paths[0], err)
	}
	if rows == nil {
		return all[0], all[1], nil
	}
	dim := len(all[0].X) / len(all[0].Sex)
	for _, i := range rows {
		train.X = append(train.X, all[0].X[i*dim:(i+1)*dim]...)
		train.Income = append(train.Income, all[0].Income[i])
		train.Sex = append(train.Sex, all[0].Sex[i])
	}
	return train, all[1], nil
}

// readAdult finds, verifies and reads both files.
func readAdult(ctx context.Context, o Options) (all [2]AdultSample, paths []string, err error) {
	if paths, err = locate("adult", adultFiles[:], o.Dir); err != nil {
		return all, nil, err
	}
	for i, f := range adultFiles {
		if err := ctx.Err(); err != nil {
			return all, nil, err
		}
		content, err := f.Read(paths[i])
		if err != nil {
			return all, nil, fmt.Errorf("data set %q: %w", "adult", err)
		}
		if all[i], err = parseAdult(content, paths[i]); err != nil {
			return all, nil, err
		}
	}
	return all, paths, nil
}

func (adult) Load(ctx context.Context, o Options) (*Splits, error) {
	all, paths, err := readAdult(ctx, o)
	if err != nil {
		return nil, err
	}
	var parts [2]*Dataset
	for i, s := range all {
		parts[i] = &Dataset{
			Name: "adult", Origin: paths[i], Height: 1, Width: len(s.X) / len(s.Sex), Channels: 1,
			X: s.X, Labels: s.Income, Classes: []string{"<=50K", ">50K"},
		}
	}
	train, err := parts[0].Draw(o.N, o.Seed)
	if err != nil {
		return nil, err
	}
	return &Splits{Train: train, Test: parts[1]}, nil
}
