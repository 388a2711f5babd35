package tables

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/experiment"
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
	t.Setenv("GOMLX_BACKEND", "go") // which has graphs ready at once
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

// request asks for a table that is made in no time, by whichever method.
func request(data, schema, epsilon string, more ...string) experiment.Request {
	settings := map[string]string{"data": data, "schema": schema, "epsilon": epsilon}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	quick := map[string]string{"steps": "20"}
	if method := settings["method"]; method == "" || method == Pairs {
		quick = map[string]string{"fit_rows": "1500", "sweeps": "6", "polish": "2"}
	}
	maps.Copy(quick, settings)
	return experiment.Request{Experiment: "synth", Seed: 1, Settings: quick}
}
