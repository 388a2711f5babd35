package privateflow

import (
	"context"
	"fmt"
	"math/rand/v2"

	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
)

// Measures implements experiment.Measurer.
func (e Experiment) Measures() []string {
	names := []string{"fid", "copies", "pixels"}
	for _, m := range metric.Registry.All() {
		if _, ofImages := m.(metric.Frechet); !ofImages {
			names = append(names, m.Describe().Name)
		}
	}
	return names
}

// Called implements experiment.Renaming.
func (Experiment) Called(name string) []string { return fid.Called(name) }

// Measure implements experiment.Measurer: "fid" of decoded images (fid or
// fid-768, as the network is), "copies" of latents (metric.CheckCopies), "pixels", the
// sliced W₂ of decoded images, and the registered metrics between generated and
// held-out latents.
func (e Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, name string, rows int, say func(run.Event)) (experiment.Measured, error) {
	c := config.(*Config)
	values, dim, err := r.Table("particles.npy")
	if err != nil {
		return experiment.Measured{}, err
	}
	x := transport.Points{Dim: dim, Data: values[:min(len(values), rows*dim)]}
	data, err := latent.LoadWith(ctx, c.Dataset, latent.Options{Weights: c.Weights, Label: c.Label, Inputs: c.Inputs}, say)
	if err != nil {
		return experiment.Measured{}, err
	}
	if dim != data.Test.Dim {
		return experiment.Measured{}, fmt.Errorf("particles of dimension %d, and an autoencoder of %s with latents of %d; measure with the weights of the run", dim, c.Dataset, data.Test.Dim)
	}
	switch name {
	case "fid":
		return data.FID(ctx, r, x, say)
	case "pixels":
		return data.PixelDistance(ctx, c.Dataset, x, r.Spec.Seed, say)
	case "copies":
		say(run.Event{Message: "nearest private and held-out rows"})
		return data.Copies(ctx, x, r.Spec.Seed)
	}
	v, err := metric.Measure(name, x, data.Test, rand.New(rand.NewPCG(r.Spec.Seed, 0x6d6574)))
	found := run.Values{name: v.Value}
	if v.StandardError > 0 {
		found[name+" error"] = v.StandardError
	}
	took, held := x.Len(), data.Test.Len()
	if v.Points > 0 {
		took, held = v.Points, v.Points
	}
	note := fmt.Sprintf("latents beside %d held-out ones", held)
	if v.Note != "" {
		note += "; " + v.Note
	}
	return experiment.Measured{Values: found, Rows: took, Note: note, Computed: run.Provenance{Backend: data.Backend.String()}}, err
}
