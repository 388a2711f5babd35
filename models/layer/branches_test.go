package layer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// Branches are what each layer makes, side by side, applied and in training, with the
// gradients and the statistics of each.
func TestBranchesLieSideBySide(t *testing.T) {
	one := layer.Sequence{layer.Dense{Name: "one", In: 4, Out: 6}, layer.BatchNorm{Name: "norm", Channels: 6}, layer.Fold(1, 2, 3)}
	other := layer.Dense{Name: "other", In: 4, Out: 2}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		rng := rand.New(rand.NewPCG(1, 1))
		x := random(rng, 5, 4)
		l := layer.Branches{one, other}
		params, n := layer.Init(l, 3), len(one.Params())
		beside := func(a, b []float32) (rows []float32) {
			for i := range 5 {
				rows = slices.Concat(rows, a[6*i:6*i+6], b[2*i:2*i+2])
			}
			return rows
		}
		up, down := random(rng, 5, 1, 2, 3), random(rng, 5, 2)
		both := tensors.FromFlatDataAndDimensions(beside(tensors.MustCopyFlatData[float32](up), tensors.MustCopyFlatData[float32](down)), 5, 8)
		got := compile(t, b, trained{l})(x, params, both)
		first := compile(t, b, trained{one})(x, params[:n], up)
		second := compile(t, b, trained{other})(x, params[n:], down)
		byX := slices.Clone(first[1])
		for i, v := range second[1] {
			byX[i] += v
		}
		want := append([][]float32{beside(first[0], second[0]), byX}, slices.Concat(first[2:], second[2:])...)
		for i := range want {
			if d := distance(t, got[i], want[i]); !(d <= 1e-5) {
				t.Errorf("in training, output %d (the value, gradients by x and by parameters) is off by %.1e", i, d)
			}
		}
		applied := beside(compile(t, b, one)(x, params[:n], nil)[0], compile(t, b, other)(x, params[n:], nil)[0])
		if d := distance(t, compile(t, b, l)(x, params, nil)[0], applied); !(d <= 1e-5) {
			t.Errorf("applied they differ by %.1e", d)
		}
		for i, value := range after(t, b, l, x, params) {
			if params[i].Tracked != (value != nil) || value != nil && len(value) != params[i].Size() {
				t.Errorf("%s: tracked %v, after the step %v", params[i].Name, params[i].Tracked, value)
			}
		}
	})
}
