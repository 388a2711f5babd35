package dpsinkhorn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/models"
	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/experimenttest"
	"molehill/pkg/plugin"
	"molehill/privacy/ledger"
)

// ten is a model of codes of 10 numbers, a size that does not divide the 48
// directions of a flow: the means of ten parts of the pixels, in their order.
type ten struct{}

const partOfTen = 103 // of 32×32 pixels, the last smaller

func (ten) Describe() plugin.Info {
	return plugin.Info{Name: "ten", Summary: "means of tenths", Version: "1"}
}
func (ten) Shape() models.Shape     { return models.Shape{Side: 32, Channels: 1, Code: 10} }
func (ten) Learned() models.Learned { return models.Learned{} }
func (ten) Encode(_ context.Context, _ *backend.Backend, images []float32) ([]float32, error) {
	codes := make([]float32, len(images)/1024*10)
	for i, v := range images {
		codes[i/1024*10+i%1024/partOfTen] += v / partOfTen
	}
	return codes, nil
}
func (ten) Decode(_ context.Context, _ *backend.Backend, codes []float32) ([]float32, error) {
	images := make([]float32, len(codes)/10*1024)
	for i := range images {
		images[i] = min(1, max(0, codes[i/1024*10+i%1024/partOfTen]))
	}
	return images, nil
}

func init() { models.Registry.Register(ten{}) }

// A release that is followed on whole bases of directions takes as many as the codes
// allow: what has been paid for can be learned from.
func TestSketchOfCodesOfAnySize(t *testing.T) {
	dataset.Register("few-digits-of-ten", "digits that are drawn in no time", func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
		o.N = 2000
		return dataset.Load(ctx, "glyphs", o)
	})
	r := compute(t, "sinkhorn-sketch", map[string]string{"dataset": "few-digits-of-ten", "weights": "ten", "steps": "2"}, 0)
	if result, err := r.Result(); err != nil || result.Metrics["steps"] != 2 {
		t.Errorf("%v, %v; want two steps", result.Metrics, err)
	}
}

// What settings and held-out rows cannot do is said before anything is paid.
func TestWhatCannotBeIsNotPaidFor(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger.db")
	digits := func(change func(held *dataset.Dataset)) func(context.Context, dataset.Options) (*dataset.Splits, error) {
		return func(ctx context.Context, o dataset.Options) (*dataset.Splits, error) {
			o.N = 200
			s, err := dataset.Load(ctx, "glyphs", o)
			if err == nil {
				change(s.Test)
			}
			return s, err
		}
	}
	dataset.Register("digits-like-held", "for a test", digits(func(d *dataset.Dataset) {
		for i := range d.X {
			d.X[i] = 0.5
		}
	}))
	dataset.Register("digits-unlabelled-held", "for a test", digits(func(d *dataset.Dataset) { d.Labels = nil }))
	dataset.Register("digits-unnamed-held", "for a test", digits(func(d *dataset.Dataset) { d.Classes = nil }))
	for _, c := range []struct{ experiment, dataset, name, value, want string }{
		{"dp-merf-images", "glyphs", "features", "400000", "400000 features"},
		{"dp-merf-images", "glyphs", "features", "0", "at least 1"},
		{"dp-merf-images", "glyphs", "scale", "1e-25", "length scale"},
		{"dp-merf-images", "digits-like-held", "scale", "0", "length scale"},
		{"dp-merf-images", "digits-unlabelled-held", "features", "10", "the same classes"},
		{"dp-sinkhorn", "digits-unnamed-held", "steps", "2", "the same classes"},
		{"sinkhorn-sketch", "glyphs", "batch", "5", "each of the 10 classes"},
	} {
		t.Setenv(ledger.Variable, where)
		t.Setenv("GOMLX_BACKEND", "go")
		settings := map[string]string{"width": "1", "latent": "2", "embedding": "1", "samples": "100", "dataset": c.dataset, c.name: c.value}
		request := experiment.Request{Experiment: c.experiment, Seed: 1, Settings: settings}
		_, err := request.Spec() // which looks at rows that no version fixes
		if err == nil {
			err = experiment.Compute(t.Context(), experimenttest.Acquired(t, request))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s, %s=%s: %v; want it to say %q", c.experiment, c.dataset, c.name, c.value, err, c.want)
		}
	}
	if _, err := os.Stat(where); !os.IsNotExist(err) {
		t.Errorf("something was paid: %v", err)
	}
}
