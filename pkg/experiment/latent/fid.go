package latent

import (
	"context"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/fid"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
)

// computed is on what latents are measured.
func (d *Data) computed() run.Provenance { return run.Provenance{Backend: d.Backend.String()} }

// What follows the name of a measure of images: FewerReal where they were compared with
// fewer real ones, all that there are, for how many; ToDecoded for the distance to what the
// autoencoder makes of the held-out images.
const (
	FewerReal = ", real images"
	ToDecoded = " to decoded"
)

// FID measures images decoded from latents against as many held-out ones, or all where
// there are fewer. The real ones' value is that of reconstructions of the held-out images
// themselves, which no flow of latents can be expected to be below: an autoencoder blurs.
// The distance to these reconstructions has no blur in it, only what latents are.
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
	real, err := score.Cached(ctx, held, "held-out images")
	if err != nil {
		return measured, err
	}
	again, err := score.Cached(ctx, rebuilt, "reconstructed images")
	if err != nil {
		return measured, err
	}
	made, err := score.Generated(ctx, r, generated, "")
	if err != nil {
		return measured, err
	}
	for suffix, pair := range map[string][2]*metric.Statistics{"": {made, real}, ToDecoded: {made, again}, " of reconstructions": {again, real}} {
		value, err := score.Between(pair[0], pair[1])
		if err != nil {
			return measured, err
		}
		measured.Values[name+suffix] = value.Value
		if suffix == "" {
			measured.Note = value.Note
		}
	}
	if test.Len() < x.Len() {
		measured.Values[name+FewerReal] = float64(test.Len())
	}
	return measured, nil
}
