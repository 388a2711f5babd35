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
		images.X, err = d.Decode(latents.Data)
		return &images, err
	}
	real, err := score.Cached(ctx, held, "held-out images")
	if err != nil {
		return measured, err
	}
	rebuilt, err := decoded(test)
	if err != nil {
		return measured, err
	}
	floor, err := score.Cached(ctx, rebuilt, "reconstructed images")
	if err != nil {
		return measured, err
	}
	generated, err := decoded(x)
	if err != nil {
		return measured, err
	}
	made, err := score.Generated(ctx, r, generated, "")
	if err != nil {
		return measured, err
	}
	for metricName, statistics := range map[string]*metric.Statistics{name: made, name + " of reconstructions": floor} {
		value, err := score.Between(statistics, real)
		if err != nil {
			return measured, err
		}
		measured.Values[metricName] = value.Value
		if metricName == name {
			measured.Note = value.Note
		}
	}
	return measured, nil
}
