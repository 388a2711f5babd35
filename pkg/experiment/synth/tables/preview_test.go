package tables

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// previewed is what the keeper of so many rows is told before a run of them is paid for.
func previewed(t *testing.T, rows int, epsilon string, more ...string) string {
	t.Helper()
	data, schema := people(t, rows, nil)
	spec, err := request(data, schema, epsilon, more...).Spec()
	if err != nil {
		t.Fatal(err)
	}
	store, err := run.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if again, err := experiment.Preview(t.Context(), experiment.Before{Store: store, Spec: spec, To: &said}); err != nil || again {
		t.Fatal(again, err)
	}
	return said.String()
}

// Of a few rows it is said before they are paid for that nothing of them will be seen, and of
// many, or of a large ε, it is not.
func TestTooFewRowsAreToldOf(t *testing.T) {
	for _, c := range []struct {
		rows    int
		epsilon string
		more    []string
		says    string
	}{
		{1, "1", nil, "With 1 row and ε = 1 the noise is at least "},
		{2, "1", nil, "With 2 rows and ε = 1 the noise is at least "},
		{2, "1000", nil, ""},
		{2, "inf", nil, ""},
		{100, "1", nil, ""},
		{2, "1", []string{"method", Quantiles, "bins", "1"}, "as each mean along a direction can be: what is made will show little else.\n"},
		{2000, "1", []string{"method", Quantiles, "bins", "1"}, ""},
		{16, "1", []string{"method", Sinkhorn}, ""},
	} {
		said := previewed(t, c.rows, c.epsilon, c.more...)
		if times := strings.Count(said, "will show little else"); times > 1 || (times == 1) != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%d rows, ε = %s, %v: want %q, found\n%s", c.rows, c.epsilon, c.more, c.says, said)
		}
		if !strings.Contains(said, "Booked under own/people") {
			t.Error(said)
		}
	}
}

// What a count can be at most is what it is of rows that are all the same.
func TestNoCountIsLouder(t *testing.T) {
	const n = 7
	data, schemaFile := people(t, n, func(_ int, row []string) { copy(row, []string{"30", "smith", "10.00", "yes"}) })
	schema, err := table.ReadSchema(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	c := settings()
	made, err := known{c, schema}.Method(1)
	if err != nil {
		t.Fatal(err)
	}
	m := made.(*byPairs)
	plan, err := m.Plan(n)
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := table.Read(t.Context(), data, schema)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := m.layout.Count(private.Codes)
	if err != nil {
		t.Fatal(err)
	}
	if times, _ := m.Loudness(plan); !(math.Abs(times*slices.Max(counts)/plan.NoiseStd-1) <= 1e-12) {
		t.Errorf("noise of %v is %v times as large as the largest count, %v", plan.NoiseStd, times, slices.Max(counts))
	}
}
