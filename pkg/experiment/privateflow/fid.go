package privateflow

import (
	"context"
	"fmt"

	"molehill/models/inception"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
)

// fid measures images decoded from latents against as many held-out ones, with
// the Inception network that is found: its name tells "fid" from "fid-768".
func (d *Data) fid(ctx context.Context, x transport.Points, images int, say func(run.Event)) (name string, value metric.Value, err error) {
	network, err := inception.Open("")
	if err != nil {
		return "", value, err
	}
	name = network.Metric()
	count := min(images, x.Len(), len(d.test)/d.Pixels)
	real, err := metric.CachedStatistics(fmt.Sprintf("%s %s %x %d", name, network.Digest(), fingerprint(d.test[:count*d.Pixels]), count), func() (*metric.Statistics, error) {
		return d.statistics(ctx, network, d.test[:count*d.Pixels], "held-out images", say)
	})
	if err != nil {
		return name, value, err
	}
	decoded, err := d.Decode(x.Data[:count*x.Dim])
	if err != nil {
		return name, value, err
	}
	made, err := d.statistics(ctx, network, decoded, "generated images", say)
	if err != nil {
		return name, value, err
	}
	value, err = metric.Frechet{Features: network.Dim()}.Between(made, real)
	return name, value, err
}

// statistics are those of images' features.
func (d *Data) statistics(ctx context.Context, network *inception.Network, images []float32, what string, say func(run.Event)) (*metric.Statistics, error) {
	shape := d.model.Config
	features, err := network.Features(ctx, d.Backend, images, shape.Side, shape.Side, shape.Channels, func(done, total int) {
		say(run.Event{Message: fmt.Sprintf("%s: features of %d of %d", what, done, total)})
	})
	if err != nil {
		return nil, err
	}
	return metric.NewStatistics(features)
}
