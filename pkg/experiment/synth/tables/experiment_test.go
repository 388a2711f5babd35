package tables

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/experiment/synth"
	"molehill/privacy"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
)

func TestARunLeavesATableAReportAndAnEntryOfTheLedger(t *testing.T) {
	for _, method := range Methods {
		for _, format := range []string{".csv", ".parquet"} {
			t.Run(method+format, func(t *testing.T) {
				data, schema := people(t, 3000, nil)
				r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2", "method", method, "rows", "1234")), 0)
				s, err := table.ReadSchema(schema)
				if err != nil {
					t.Fatal(err)
				}
				made, disagreements, err := table.Read(t.Context(), exported(t, r, format), s)
				if err != nil || disagreements != nil || made.Len() != 1234 {
					t.Fatalf("%v, %v, %v", made, disagreements, err)
				}
				statement, err := r.Statement()
				steps := 1
				if method == Sinkhorn {
					steps = 20
				}
				if err != nil || !(statement.Epsilon() <= 2 && statement.Epsilon() >= 1.99) || statement.Steps != steps || statement.Research || statement.Relation != privacy.ReplaceOne.String() {
					t.Errorf("%+v, %v", statement, err)
				}
				for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html"} {
					text := string(experimenttest.Read(t, r, name))
					for _, want := range []string{"ε, δ) = (2, 1e-06)", "people", "Not", "wealth", "how long it took"} {
						if !strings.Contains(text, want) && !strings.Contains(text, strings.ToLower(want)) {
							t.Errorf("%s does not say %q", name, want)
						}
					}
				}
				where, err := ledger.Default()
				if err != nil {
					t.Fatal(err)
				}
				l, err := ledger.Open(where)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				entries, err := l.History(t.Context(), "own/people")
				if err != nil || len(entries.Entries) != 2 {
					t.Errorf("the ledger has %+v, want a reservation and its end; %v", entries, err)
				}
			})
		}
	}
}

// Nothing that a record holds may decide whether a release comes: a neighbour whose
// record is nonsense gives one too, as far away as the sensitivity allows, and only
// the keeper is told.
func TestNoRecordStopsARun(t *testing.T) {
	secrets := []string{"Zorro", "987654", "-1e999"}
	var values [2][]float64
	var sensitivity float64
	for k := range 2 {
		data, schema := people(t, 400, func(i int, row []string) {
			if k == 1 && i == 17 {
				row[0], row[1], row[2], row[3] = secrets[1], secrets[0], secrets[2], "NaN"
			}
		})
		q := request(data, schema, "2")
		q.Research = true // the same noise on both
		r := experimenttest.Computed(t, experimenttest.Acquired(t, q), 0)
		values[k] = experimenttest.Numbers(t, r, experiment.ReleaseFile)
		statement, err := r.Statement()
		if err != nil {
			t.Fatal(err)
		}
		sensitivity = statement.Sensitivity.Value
		text, err := json.Marshal(statement)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{synth.ReportFile + ".md", synth.ReportFile + ".html", synth.SchemaFile, "synthetic.csv"} {
			text = append(text, experimenttest.Read(t, r, name)...)
		}
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%q is told", secret)
			}
		}
	}
	var squares float64
	for i, v := range values[0] {
		squares += (v - values[1][i]) * (v - values[1][i])
	}
	if d := math.Sqrt(squares); !(d <= sensitivity*(1+1e-6) && d >= sensitivity/2) {
		t.Errorf("the neighbour's release is %v away, the sensitivity is %v", d, sensitivity)
	}
}

// What is released has the noise of the statement: its standard deviation over the
// numbers of a table of 400 rows, of which nearly all cells are empty.
func TestTheReleaseHasTheStatedNoise(t *testing.T) {
	data, schema := people(t, 400, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
	statement, err := r.Statement()
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.ReadSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := table.Read(t.Context(), data, s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := settings().method(private.Columns, private.Schema.TargetIndex())
	if err != nil {
		t.Fatal(err)
	}
	counts, err := m.(*byPairs).layout.Count(private.Codes)
	if err != nil {
		t.Fatal(err)
	}
	var squares float64
	values := experimenttest.Numbers(t, r, experiment.ReleaseFile)
	for i, v := range values {
		squares += (v - counts[i]) * (v - counts[i])
	}
	// Of about 1000 numbers the standard deviation is within 12 % but once in 10⁷ runs.
	if std := math.Sqrt(squares / float64(len(values))); !(math.Abs(std/statement.NoiseStd-1) <= 0.12) {
		t.Errorf("%d numbers with noise of %v, stated is %v", len(values), std, statement.NoiseStd)
	}
}

// What a method keeps of the rows, to make others of, is what it has released, and has
// noise in all its numbers: without a budget it keeps others.
func TestAMethodKeepsWhatItReleased(t *testing.T) {
	data, schema := people(t, 400, nil)
	s, err := table.ReadSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := table.Read(t.Context(), data, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Pairs, Quantiles} {
		var kept [2][]float64
		for k, epsilon := range []float64{2, math.Inf(1)} {
			c := settings()
			c.Method, c.Epsilon = name, privacy.Epsilon(epsilon)
			m, err := c.method(private.Columns, private.Schema.TargetIndex())
			if err != nil {
				t.Fatal(err)
			}
			plan, err := m.Plan(private.Len())
			if err != nil {
				t.Fatal(err)
			}
			var released []float64
			release := plan.Releaser(noise.Seeded(3))
			release.Keep(func(_ int, values []float64) error { released = slices.Clone(values); return nil })
			if err := m.Learn(t.Context(), nil, private, release, 1); err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *byPairs:
				kept[k] = m.released
			case *bySketch:
				kept[k] = m.released
			}
			if len(released) == 0 || !slices.Equal(kept[k], released) {
				t.Errorf("%s, ε = %v: other numbers are kept than released", name, epsilon)
			}
		}
		same := 0
		for i, v := range kept[0] {
			if v == kept[1][i] {
				same++
			}
		}
		if same > 0 {
			t.Errorf("%s: %d of %d numbers have no noise", name, same, len(kept[0]))
		}
	}
}

// A run that is stopped after its release goes on with the same one.
func TestAStoppedRunReleasesTheSame(t *testing.T) {
	data, schema := people(t, 500, nil)
	experimenttest.ReleasesTheSame(t, request(data, schema, "1"), experiment.ReleaseFile)
}

func TestMistakesAreFoundBeforeAnythingIsSpent(t *testing.T) {
	data, schema := people(t, 50, nil)
	draft := filepath.Join(t.TempDir(), "draft.json")
	if err := os.WriteFile(draft, []byte(strings.Replace(schemaText, `"public": true, "low": 0, "high": 100}`, `"low": 0, "high": 100}`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	experimenttest.Refused(t, map[string]experiment.Request{
		"age: numbers from 0 to 100": request(data, draft, "1"),
		"no such file":               request(data+"x", schema, "1"),
		"drafts one":                 request(data, schema+"x", "1"),
		"did you mean":               request(data, schema, "1", "method", "pair"),
		"ε = 0":                      request(data, schema, "0"),
		"δ = 2":                      request(data, schema, "1", "delta", "2"),
		"sweeps is 0":                request(data, schema, "1", "sweeps", "0"),
		"emphasis is -1":             request(data, schema, "1", "emphasis", "-1"),
		"batch is 0":                 request(data, schema, "1", "batch", "0"),
		"debiasing is 2":             request(data, schema, "1", "debiasing", "2"),
		"noise is -1":                request(data, schema, "1", "noise", "-1"),
		"give both":                  request("", schema, "1"),
		"noise is 1, which the method pairs does not read": request(data, schema, "1", "noise", "1"),
		"dp-sinkhorn would read it":                        request(data, schema, "1", "width", "64"),
		"sweeps is 3, which the method dp-sinkhorn":        request(data, schema, "1", "method", "dp-sinkhorn", "sweeps", "3"),
		"bins is 8, which":                                 request(data, schema, "1", "bins", "8"),
	})
}

// The name of a run, which stands in its report, must not let anybody try records:
// in another store the same files have another one.
func TestInputsAreHashedUnderASecret(t *testing.T) {
	data, schema := people(t, 50, nil)
	id := func() string { return experimenttest.ID(t, request(data, schema, "1")) }
	first := id()
	if id() != first {
		t.Error("the same files are another run")
	}
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	if id() == first {
		t.Error("the files have the same hash in another store")
	}
}

func TestRowsThatChangedAreAnotherRun(t *testing.T) {
	data, schema := people(t, 50, nil)
	r := experimenttest.Acquired(t, request(data, schema, "1"))
	writePeople(t, data, 50, 2, nil)
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
	experimenttest.Unnamed(t, r, data, schema)
}

// Where data lie is nothing that a run tells others: neither one that ends well, nor
// one that finds its table malformed.
func TestARunDoesNotSayWhereItsDataAre(t *testing.T) {
	data, schema := people(t, 60, nil)
	for _, method := range []string{Pairs, Sinkhorn} {
		r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2", "method", method)), 0)
		experimenttest.Unnamed(t, r, data, schema)
		if said, err := r.Provenance(); err != nil || said[0].Data != "own/people" {
			t.Error(said, err)
		}
	}
	if err := os.WriteFile(data, []byte("age,job,wealth,rich\n1,baker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := experimenttest.Acquired(t, request(data, schema, "2"))
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the data") {
		t.Error(err)
	}
	experimenttest.Unnamed(t, r, data, schema)

	r = experimenttest.Acquired(t, request(data, schema, "3"))
	if err := os.Remove(schema); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the schema") {
		t.Error(err)
	}
	experimenttest.Unnamed(t, r, data, schema)
}

// A schema that is another one by the time a run begins, or goes on, may be a draft of the
// rows, which nobody has confirmed: nothing of what it says stays with the run.
func TestARunDoesNotTellOfASchemaThatChanged(t *testing.T) {
	for _, change := range [][2]string{
		{`"public": true`, `"public": false`},
		{`"smith"`, `"smith", "kuru", "kuru"`},
		{`"low": 0`, `"low": 31337`},
		{`{`, `{"kuru": 1,`},
	} {
		data, schema := people(t, 50, nil)
		r := experimenttest.Acquired(t, request(data, schema, "1"))
		text := strings.Replace(schemaText, `"smith"`, `"smith", "kuru"`, 1)
		if changed := strings.Replace(text, change[0], change[1], 1); changed == text {
			t.Fatalf("no %s in the schema", change[0])
		} else if err := os.WriteFile(schema, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has changed") || strings.Contains(err.Error(), "kuru") {
			t.Error(err)
		}
		experimenttest.Unnamed(t, r, data, schema, "kuru", "31337", "smith")
	}
}
