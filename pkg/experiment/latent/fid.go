package latent

import (
	"context"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/run"
	"molehill/transport"
)

// computed is on what latents are measured.
func (d *Data) computed() run.Provenance { return run.Provenance{Backend: d.Backend.String()} }

// FewerReal follows the name of a measure of images that were compared with fewer real ones,
// all that there are: how many.
const FewerReal = ", real images"

// FID measures images decoded from latents against as many held-out ones, or all where
// there are fewer. The real ones' value is that of reconstructions of the held-out images themselves,
// which no flow of latents can be expected to be below.
func (d *Data) FID(ctx context.Context, r *run.Run, x transport.Points, say func(run.Event)) (experiment.Measured, error) {
	score, err := fid.Open(ctx, d.Backend, say)
	if err != nil {
		return experiment.Measured{}, err
	}
	name, test := score.Name(), d.Test
	test.Data = test.Data[:min(x.Len(), test.Len())*test.Dim]
	measured := experiment.Measured{Values: run.Values{}, Rows: x.Len(), Computed: d.computed()}
	held := d.images(test.Len())
	decoded := func(latents transport.Points) (*dataset.Dataset, error) {
		images := *held
		pixels, err := d.Decode(ctx, latents.Data)
		images.X = pixels
		return &images, err
	}
	rebuilt, err := decoded(test)
	if err != nil {
		return measured, err
	}
	generated, err := decoded(x)
	if err != nil {
		return measured, err
	}
	value, err := score.Distance(ctx, r, generated, held, "")
	if err != nil {
		return measured, err
	}
	floor, err := score.Floor(ctx, rebuilt, held)
	if err != nil {
		return measured, err
	}
	measured.Values[name], measured.Values[name+" of reconstructions"], measured.Note = value.Value, floor.Value, value.Note
	if test.Len() < x.Len() {
		measured.Values[name+FewerReal] = float64(test.Len())
	}
	return measured, nil
}
