package train

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

//go:embed testdata/golden.json
var golden []byte

// A few steps of every optimiser are PyTorch's.
func TestOptimizersArePyTorchs(t *testing.T) {
	var file struct {
		Cases []struct {
			Optimizer Optimizer `json:"optimizer"`
			Rate      float64   `json:"rate"`
			Steps     int       `json:"steps"`
			Params    []float64 `json:"params"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(golden, &file); err != nil || len(file.Cases) < 7 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range file.Cases {
			if b.Name != backend.Go && c.Optimizer.WeightDecay < 0.2 && os.Getenv("MOLEHILL_THOROUGH") == "" {
				continue // XLA compiles for long; those of much weight decay have the rest, too
			}
			params, at := layer.Params{}, 0
			for _, spec := range plain.Params() {
				params = append(params, layer.Param{Spec: spec, Value: wave(spec.Size(), 0.7, 0.7*float64(at))})
				at += spec.Size()
			}
			trainer := made(t, b, plain, params, c.Optimizer)
			p := steps(t, trainer)
			for range c.Steps {
				step(t, p, c.Rate, batch(0))
			}
			expectNear(t, fmt.Sprintf("%+v", c.Optimizer), values(t, trainer.Params), c.Params, 5e-6)
		}
	})
}

func TestOptimizersThatCannotBe(t *testing.T) {
	for says, o := range map[string]Optimizer{
		`no optimiser "adamw"`:    {Name: "adamw"},
		"weight decay of -0.1":    {WeightDecay: -0.1},
		"weight decay of NaN":     {WeightDecay: math.NaN()},
		"weight decay of +Inf":    {WeightDecay: math.Inf(1)},
		"momentum of 1;":          {Name: SGD, Momentum: 1},
		"momentum of -1":          {Name: SGD, Momentum: -1},
		"momentum of 0.9 for ada": {Momentum: 0.9},
		"β = 1;":                  {Average: 1},
		"β = NaN":                 {Average: math.NaN()},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v; want an error that says %q", o, err, says)
		}
		if _, err := NewWith(nil, plain, layer.Init(plain, 1), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	for _, o := range []Optimizer{{}, {Name: Adam, WeightDecay: 1e-5, Average: 0.9}, {Name: SGD}, {Name: SGD, Momentum: 0.9}} {
		if err := o.Check(); err != nil {
			t.Error(err)
		}
	}
}
