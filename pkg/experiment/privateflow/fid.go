package privateflow

import (
	"context"
	"fmt"

	"molehill/models/inception"
	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
)

// fid measures images decoded from latents against as many held-out ones, with
// the Inception network that is found: its name tells "fid" from "fid-768". The
// real ones' value is that of reconstructions of the held-out images themselves,
// which no flow of latents can be expected to be below.
func (d *Data) fid(ctx context.Context, r *run.Run, x transport.Points, say func(run.Event)) (experiment.Measured, error) {
	network, err := inception.Open("")
	if err != nil {
		return experiment.Measured{}, err
	}
	name, count := network.Metric(), min(x.Len(), d.Test.Len())
	measured := experiment.Measured{Values: run.Values{}, Rows: count}
	cached := func(images []float32, what string) (*metric.Statistics, error) {
		key := fmt.Sprintf("%s %s %x %d", name, network.Digest(), fingerprint(images), count)
		return metric.CachedStatistics(key, func() (*metric.Statistics, error) {
			return d.statistics(ctx, network, images, what, say)
		})
	}
	real, err := cached(d.test[:count*d.Pixels], "features of held-out images")
	if err != nil {
		return measured, err
	}
	rebuilt, err := d.Decode(d.Test.Data[:count*d.Test.Dim])
	if err != nil {
		return measured, err
	}
	floor, err := cached(rebuilt, "features of reconstructed images")
	if err != nil {
		return measured, err
	}
	decoded, err := d.Decode(x.Data[:count*x.Dim])
	if err != nil {
		return measured, err
	}
	made, err := d.statistics(ctx, network, decoded, "features of generated images", say)
	if err != nil {
		return measured, err
	}
	if err := r.WriteFile(fmt.Sprintf("measures/%s-%d.npz", name, count), made.Save); err != nil {
		return measured, err
	}
	for metricName, statistics := range map[string]*metric.Statistics{name: made, name + " of reconstructions": floor} {
		value, err := metric.Frechet{Features: network.Dim()}.Between(statistics, real)
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

// statistics are those of images' features.
func (d *Data) statistics(ctx context.Context, network *inception.Network, images []float32, what string, say func(run.Event)) (*metric.Statistics, error) {
	shape := d.model.Config
	features, err := network.Features(ctx, d.Backend, images, shape.Side, shape.Side, shape.Channels, func(done, total int) {
		say(run.Event{Message: what, Step: done, Total: total})
	})
	if err != nil {
		return nil, err
	}
	return metric.NewStatistics(features)
}
