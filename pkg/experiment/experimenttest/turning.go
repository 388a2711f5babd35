package experimenttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/plugin"
)

// Load loads a data set.
type Load func(context.Context, dataset.Options) (*dataset.Splits, error)

// turning are records that change while their version says that they do not.
type turning struct {
	name  string
	load  Load
	spoil *func(*dataset.Dataset)
}

func (s turning) Describe() plugin.Info {
	return plugin.Info{Name: s.name, Summary: "for a test", Version: "1"}
}
func (turning) Public() bool { return false }
func (turning) Pinned()      {}

func (s turning) Load(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
	splits, err := s.load(ctx, o)
	if err == nil {
		(*s.spoil)(splits.Train)
	}
	return splits, err
}

// OtherRecords has a run computed, of the records of load, which are its own to change, where
// it cannot pay; and checks that it is bound to them and their labels: with others it does
// not go on under the same noise, and spends nothing.
func OtherRecords(t *testing.T, q experiment.Request, load Load) {
	t.Helper()
	spoil := func(*dataset.Dataset) {}
	name := "turning-" + strings.ToLower(t.Name())
	dataset.Registry.Register(turning{name, load, &spoil})
	q.Settings = experiment.With(q.Settings, "dataset", name)
	where := filepath.Join(t.TempDir(), "ledger.db")
	t.Setenv("MOLEHILL_LEDGER", where)
	t.Setenv("GOMLX_BACKEND", "go")
	r := Acquired(t, q)
	t.Setenv("MOLEHILL_LEDGER", t.TempDir()) // which is no ledger
	if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "nothing was read") {
		t.Fatal(err)
	}
	t.Setenv("MOLEHILL_LEDGER", where)
	for what, change := range map[string]func(*dataset.Dataset){
		"another record": func(d *dataset.Dataset) { d.Row(3)[300] = 0.123 },
		"another label":  func(d *dataset.Dataset) { d.Labels[3] = (d.Labels[3] + 1) % 10 },
	} {
		if err := r.Acquire(); err != nil {
			t.Fatal(err)
		}
		spoil = change
		if err := experiment.Compute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "pay for a new one") {
			t.Errorf("%s under the same noise: %v", what, err)
		}
	}
	if _, err := os.Stat(where); !os.IsNotExist(err) {
		t.Errorf("something was paid: %v", err)
	}
}
