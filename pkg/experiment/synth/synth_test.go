package synth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/npy"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/ledger"
)

const schemaText = `{"name": "people", "target": "rich", "columns": [
 {"name": "age", "kind": "numeric", "public": true, "low": 0, "high": 100},
 {"name": "job", "kind": "categorical", "public": true, "values": ["baker", "smith", "none"], "missing": true},
 {"name": "wealth", "kind": "numeric", "public": true, "low": 0, "high": 100000, "decimals": 2, "scale": "log"},
 {"name": "rich", "kind": "categorical", "public": true, "values": ["no", "yes"]}]}`

// people writes a table and its schema, in a place of their own for runs and ledger.
func people(t *testing.T, rows int, change func(i int, row []string)) (data, schema string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv("MOLEHILL_LEDGER", filepath.Join(dir, "ledger.db"))
	data, schema = filepath.Join(dir, "people.csv"), filepath.Join(dir, "people.schema.json")
	writePeople(t, data, rows, 1, change)
	if err := os.WriteFile(schema, []byte(schemaText), 0o600); err != nil {
		t.Fatal(err)
	}
	return data, schema
}

func writePeople(t *testing.T, path string, rows int, seed uint64, change func(i int, row []string)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	b.WriteString("age,job,wealth,rich\n")
	for i := range rows {
		age := rng.IntN(100)
		wealth := math.Exp(rng.Float64() * 11)
		rich := "no"
		if float64(age)/100+rng.Float64() > 1.2 {
			rich = "yes"
		}
		row := []string{fmt.Sprint(age), []string{"baker", "smith", "none", ""}[rng.IntN(4)], fmt.Sprintf("%.2f", wealth), rich}
		if change != nil {
			change(i, row)
		}
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func request(data, schema, epsilon string, more ...string) experiment.Request {
	q := experiment.Request{Experiment: "synth", Seed: 1, Settings: map[string]string{
		"data": data, "schema": schema, "epsilon": epsilon, "fit_rows": "1500", "sweeps": "6", "polish": "2", "steps": "20"}}
	for i := 0; i < len(more); i += 2 {
		q.Settings[more[i]] = more[i+1]
	}
	return q
}

// released returns what a run has released.
func released(t *testing.T, r *run.Run) []float64 {
	t.Helper()
	_, values, err := npy.ReadOf[float64](experimenttest.Read(t, r, releaseFile))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestARunLeavesATableAReportAndAnEntryOfTheLedger(t *testing.T) {
	for _, method := range Methods {
		for _, format := range []string{".csv", ".parquet"} {
			t.Run(method+format, func(t *testing.T) {
				data, schema := people(t, 3000, nil)
				r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2", "method", method, "format", format, "rows", "1234")), 0)
				s, err := table.ReadSchema(schema)
				if err != nil {
					t.Fatal(err)
				}
				made, disagreements, err := table.Read(t.Context(), filepath.Join(r.Dir, "artefacts", "synthetic"+format), s)
				if err != nil || disagreements != nil || made.Len() != 1234 {
					t.Fatalf("%v, %v, %v", made, disagreements, err)
				}
				statement, err := Statement(r)
				if err != nil || statement.Epsilon() > 2 || statement.Epsilon() < 1.99 || statement.Steps != 1 || statement.Research || statement.Relation != privacy.ReplaceOne.String() {
					t.Errorf("%+v, %v", statement, err)
				}
				for _, name := range []string{ReportFile + ".md", ReportFile + ".html"} {
					text := string(experimenttest.Read(t, r, name))
					for _, want := range []string{"ε, δ) = (2, 1e-06)", "people", "Not", "wealth"} {
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
		values[k] = released(t, r)
		statement, err := Statement(r)
		if err != nil {
			t.Fatal(err)
		}
		sensitivity = statement.Sensitivity.Value
		text, err := json.Marshal(statement)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{ReportFile + ".md", ReportFile + ".html", SchemaFile, "synthetic.csv"} {
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
	if d := math.Sqrt(squares); d > sensitivity*(1+1e-6) || d < sensitivity/2 {
		t.Errorf("the neighbour's release is %v away, the sensitivity is %v", d, sensitivity)
	}
}

// What is released has the noise of the statement: its standard deviation over the
// numbers of a table of 400 rows, of which nearly all cells are empty.
func TestTheReleaseHasTheStatedNoise(t *testing.T) {
	data, schema := people(t, 400, nil)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, request(data, schema, "2")), 0)
	statement, err := Statement(r)
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
	m, err := settings().method(private)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := m.(*byPairs).layout.Count(private.Codes)
	if err != nil {
		t.Fatal(err)
	}
	var squares float64
	values := released(t, r)
	for i, v := range values {
		squares += (v - counts[i]) * (v - counts[i])
	}
	// Of about 1000 numbers the standard deviation is within 12 % but once in 10⁷ runs.
	if std := math.Sqrt(squares / float64(len(values))); math.Abs(std/statement.NoiseStd-1) > 0.12 {
		t.Errorf("%d numbers with noise of %v, stated is %v", len(values), std, statement.NoiseStd)
	}
}

// A run that is stopped after its release goes on with the same one.
func TestAStoppedRunReleasesTheSame(t *testing.T) {
	data, schema := people(t, 500, nil)
	r := experimenttest.Acquired(t, request(data, schema, "1"))
	if experiment.Compute(&afterRelease{t.Context(), r}, r) == nil {
		t.Fatal("the run was faster than its interruption")
	}
	before := released(t, r)
	if err := r.Acquire(); err != nil {
		t.Fatal(err)
	}
	experimenttest.Computed(t, r, 0)
	for i, v := range released(t, r) {
		if v != before[i] {
			t.Fatalf("number %d was released as %v, then as %v", i, before[i], v)
		}
	}
}

// afterRelease is a context that ends once something was released.
type afterRelease struct {
	context.Context
	run *run.Run
}

func (c *afterRelease) Err() error {
	if names, err := c.run.Artefacts(); err == nil && strings.Contains(strings.Join(names, " "), releaseFile) {
		return context.Canceled
	}
	return c.Context.Err()
}

func TestMistakesAreFoundBeforeAnythingIsSpent(t *testing.T) {
	data, schema := people(t, 50, nil)
	draft := filepath.Join(t.TempDir(), "draft.json")
	if err := os.WriteFile(draft, []byte(strings.Replace(schemaText, `"public": true, "low": 0, "high": 100}`, `"low": 0, "high": 100}`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]experiment.Request{
		"age: numbers from 0 to 100": request(data, draft, "1"),
		"no such file":               request(data+"x", schema, "1"),
		"drafts one":                 request(data, schema+"x", "1"),
		"did you mean":               request(data, schema, "1", "method", "pair"),
		"ε = 0":                      request(data, schema, "0"),
		"δ = 2":                      request(data, schema, "1", "delta", "2"),
		"expected .csv":              request(data, schema, "1", "format", ".xlsx"),
		"numbers cannot hold":        request(data, schema, "1", "format", ".npz"),
		"sweeps is 0":                request(data, schema, "1", "sweeps", "0"),
		"emphasis is -1":             request(data, schema, "1", "emphasis", "-1"),
		"give both":                  request("", schema, "1"),
	} {
		if _, err := q.Spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, found %v", want, err)
		}
	}
}

// The name of a run, which stands in its report, must not let anybody try records:
// in another store the same files have another one.
func TestInputsAreHashedUnderASecret(t *testing.T) {
	data, schema := people(t, 50, nil)
	id := func() string {
		spec, err := request(data, schema, "1").Spec()
		if err != nil {
			t.Fatal(err)
		}
		id, err := spec.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
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
}

// publicImpostor is a data set that would make the ledger look away.
type publicImpostor struct{}

func (publicImpostor) Describe() plugin.Info {
	return plugin.Info{Name: "own/impostor", Version: "1", Summary: "x"}
}
func (publicImpostor) Public() bool { return true }
func (publicImpostor) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	return nil, nil
}

func TestATableCannotPassForPublic(t *testing.T) {
	dataset.Registry.Register(publicImpostor{})
	if _, err := enter(&table.Schema{Name: "impostor"}); err == nil || !strings.Contains(err.Error(), "rename") {
		t.Error(err)
	}
	for range 2 {
		if name, err := enter(&table.Schema{Name: "honest"}); err != nil || name != "own/honest" {
			t.Error(name, err)
		}
	}
}

// No two encoded rows are further apart than the diameter that the sketch's
// sensitivity is computed for, and some are as far.
func TestEncodedRowsLieWithinTheirDiameter(t *testing.T) {
	var s table.Schema
	if err := json.Unmarshal([]byte(schemaText), &s); err != nil {
		t.Fatal(err)
	}
	s.Columns[0].Missing = true
	columns := s.Modelled()
	m, err := newBySketch(settings(), columns)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows := &table.Table{Schema: &s, Columns: columns, Codes: make([][]table.Code, len(columns))}
	const n = 300
	for j, c := range columns {
		for range n {
			code := rng.IntN(c.Levels() + 1)
			if rng.IntN(2) == 0 {
				code = []int{0, 1, c.Levels()}[rng.IntN(3)]
			}
			rows.Codes[j] = append(rows.Codes[j], table.Code(code))
		}
	}
	x := m.encode(rows)
	var furthest, longest float64
	for i := range n {
		for k := range i + 1 {
			var squares float64
			for c, v := range x.Row(i) {
				squares += float64(v-x.Row(k)[c]) * float64(v-x.Row(k)[c])
			}
			furthest = max(furthest, math.Sqrt(squares))
		}
		var norm float64
		for _, v := range x.Row(i) {
			norm += float64(v) * float64(v)
		}
		longest = max(longest, math.Sqrt(norm))
	}
	if furthest > m.diameter() || furthest < 0.99*m.diameter() || longest > m.radius() {
		t.Errorf("rows are up to %v apart and %v long, stated is %v and %v", furthest, longest, m.diameter(), m.radius())
	}
	// Decoding gives back what can be.
	for j, codes := range m.decode(x) {
		for i, code := range codes {
			if want := rows.Codes[j][i]; want != code && (want != 0 || columns[j].Missing) {
				t.Fatalf("column %q: code %d is decoded as %d", columns[j].Name, want, code)
			}
		}
	}
}

func TestFeaturesOfKnownRows(t *testing.T) {
	var s table.Schema
	if err := json.Unmarshal([]byte(schemaText), &s); err != nil {
		t.Fatal(err)
	}
	rows := &table.Table{Schema: &s, Columns: s.Modelled(), Codes: [][]table.Code{{51, 0, 1}, {3, 0, 1}, {1, 1, 1}, {2, 1, 0}}}
	d, err := Features(rows)
	if err != nil {
		t.Fatal(err)
	}
	place := float32(0.5 / 256)
	want := []float32{0.5, 0, 0, 0, 0, 1, place, 0, 0, 1, 1, 0, 0, 0, place, 0}
	if fmt.Sprint(d.X) != fmt.Sprint(want) || fmt.Sprint(d.Labels) != "[1 0]" {
		t.Errorf("features %v with labels %v, want %v with [1 0]", d.X, d.Labels, want)
	}
	s.Target = ""
	if _, err := Features(rows); err == nil {
		t.Error("rows without a target have features")
	}
}

func TestTheKeeperCompares(t *testing.T) {
	data, schema := people(t, 3000, nil)
	test := filepath.Join(filepath.Dir(data), "test.csv")
	writePeople(t, test, 1000, 9, nil)
	r := experimenttest.Acquired(t, request(data, schema, "inf"))
	experimenttest.Computed(t, r, 0)
	d, err := Diagnose(t.Context(), r, test)
	if err != nil {
		t.Fatal(err)
	}
	// Without noise the classifiers are as good as each other: 1000 test rows of 0.8
	// have a standard error of 0.013.
	if d.Rows != 3000 || d.Test != 1000 || math.Abs(d.Synthetic-d.Real) > 0.03 || d.Real < d.Majority+0.03 || d.Columns > 0.06 || d.Pairs > 0.15 {
		t.Errorf("%+v", d)
	}
	if d.Neighbours == nil || math.Abs(d.Neighbours.NearerPrivate-0.5) > 0.1 {
		t.Errorf("%+v", d.Neighbours)
	}
	for _, name := range []string{KeeperFile + ".md", KeeperFile + ".html"} {
		if info, err := os.Stat(filepath.Join(r.Dir, "artefacts", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v, %v", name, info, err)
		}
		if text := string(experimenttest.Read(t, r, name)); strings.Count(text, "NOT PRIVATE") < 3 || !strings.Contains(text, "Do not publish") {
			t.Errorf("%s does not say that it is not private", name)
		}
	}
	if _, err := Diagnose(t.Context(), r, ""); err != nil {
		t.Error(err)
	}
	writePeople(t, data, 3000, 5, nil)
	if _, err := Diagnose(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
}

// A table of 100,000 rows and 20 columns is made within 500 MB; a million rows were
// measured by hand (docs/own-data.md).
func TestALargeTable(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("MOLEHILL_THOROUGH is not set")
	}
	const rows, columns = 100_000, 20
	dir := t.TempDir()
	t.Setenv("MOLEHILL_RUNS", filepath.Join(dir, "runs"))
	t.Setenv("MOLEHILL_LEDGER", filepath.Join(dir, "ledger.db"))
	s := table.Schema{Name: "large", Target: "c19"}
	var b bytes.Buffer
	for j := range columns {
		name := fmt.Sprintf("c%02d", j)
		low, high := 0.0, 999.0
		c := table.Column{Name: name, Kind: table.Numeric, Low: &low, High: &high, Public: true}
		if j%2 == 1 {
			c = table.Column{Name: name, Kind: table.Categorical, Public: true}
			for v := range 2 + j {
				c.Values = append(c.Values, fmt.Sprint(v))
			}
		}
		s.Columns = append(s.Columns, c)
		b.WriteString([]string{",", ""}[min(1, max(0, 1-j))] + name)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range rows {
		b.WriteByte('\n')
		z := rng.Float64()
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			v := (z + rng.Float64()) / 2
			if j%2 == 1 {
				fmt.Fprint(&b, int(v*float64(2+j)))
			} else {
				fmt.Fprint(&b, int(v*999))
			}
		}
	}
	data, schema := filepath.Join(dir, "large.csv"), filepath.Join(dir, "large.json")
	var text bytes.Buffer
	if err := s.Encode(&text); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{data: b.Bytes(), schema: text.Bytes()} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := experimenttest.Computed(t, experimenttest.Acquired(t, experiment.Request{Experiment: "synth", Seed: 1,
		Settings: map[string]string{"data": data, "schema": schema, "delta": "1e-7", "fit_rows": "10000"}}), 0)
	runtime.ReadMemStats(&after)
	if grown := float64(after.Sys) - float64(before.Sys); grown > 500e6 {
		t.Errorf("it took %.0f MB", grown/1e6)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if d := result.Metrics["pairs, distance to the release"]; d > 0.06 || result.Metrics["rows"] != rows {
		t.Errorf("%v", result.Metrics)
	}
}
