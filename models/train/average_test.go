package train

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// The average is Σ βᵏ·θ / Σ βᵏ over the parameters after each step, k steps ago, and
// what applies it sees the same parameters.
func TestAverage(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const beta = 0.75
		trainer := made(t, b, normed, layer.Init(normed, 1), Optimizer{Average: beta})
		p := steps(t, trainer)
		of, err := trainer.InferenceOfAverage()
		if err != nil {
			t.Fatal(err)
		}
		expectNear(t, "at the start", values(t, trainer.Average), wide(values(t, trainer.Params)), 0)
		var sum []float64
		weight := 0.0
		for k := range 6 {
			step(t, p, 0.1, batch(k))
			now := values(t, trainer.Params)
			if sum == nil {
				sum = make([]float64, len(now))
			}
			weight = beta*weight + 1
			mean := make([]float64, len(now))
			for i, v := range now {
				sum[i] = beta*sum[i] + float64(v)
				mean[i] = sum[i] / weight
			}
			expectNear(t, "average", values(t, trainer.Average), mean, 2e-6)
		}

		params, err := trainer.Average()
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := made(t, b, normed, params, Optimizer{}).Inference()
		if err != nil {
			t.Fatal(err)
		}
		apply := func(p *Program) []float32 {
			_, out, err := p.Run(0, tensors.FromFlatDataAndDimensions(wave(15, 1, 0), 5, 3))
			if err != nil {
				t.Fatal(err)
			}
			return tensors.MustCopyFlatData[float32](out[0])
		}
		expectNear(t, "applied", apply(of), wide(apply(fixed)), 0)
		if !(math.Abs(float64(params[0].Value[0]-values(t, trainer.Params)[0])) >= 1e-3) {
			t.Error("the average is where the parameters are")
		}
		plainly := made(t, b, normed, params, Optimizer{})
		if _, err := plainly.Average(); err == nil {
			t.Error("an average that was not kept was returned")
		}
		if _, err := plainly.InferenceOfAverage(); err == nil {
			t.Error("an average that was not kept was applied")
		}
	})
}
