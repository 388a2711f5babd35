package tables

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
)

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
	if grown := float64(after.Sys) - float64(before.Sys); !(grown <= 500e6) {
		t.Errorf("it took %.0f MB", grown/1e6)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if d := result.Metrics["pairs, distance to the release"]; !(d <= 0.06) || result.Metrics["rows"] != rows {
		t.Errorf("%v", result.Metrics)
	}
}
