// Package fid measures generated images by FID, the Fréchet distance between
// features that an Inception network finds in them and in real ones.
package fid

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"molehill/models/backend"
	"molehill/models/inception"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/pkg/run"
)

// Score compares images by the network that is found.
type Score struct {
	network *inception.Network
	on      *backend.Backend
	say     func(run.Event)
}

// Open finds the network: in a context of Keeping (package experiment) the last one, which
// is compiled. say is told of work that takes time.
func Open(ctx context.Context, b *backend.Backend, say func(run.Event)) (*Score, error) {
	type opened struct {
		where   string
		network *inception.Network
	}
	where := strings.Join(append(dataset.Folders(""), inception.Installed("")), "\n")
	last, _, err := experiment.Last(ctx, "inception", func(o opened) bool { return o.where == where }, func() (opened, error) {
		network, err := inception.Open("")
		return opened{where, network}, err
	}, func(opened) {})
	return &Score{last.network, b, say}, err
}

// Called is what a measure is called: "fid" by the network that would be found, or by all
// that there are if none is.
func Called(measure string) []string {
	if measure != "fid" {
		return []string{measure}
	}
	if here := inception.Installed(""); here != "" {
		return []string{here}
	}
	return inception.Metrics()
}

// Name is "fid", or "fid-768" where there is only the part of the network that
// leads to its 768 channels: the two do not compare.
func (s *Score) Name() string { return s.network.Metric() }

// Statistics are those of images' features. what names the images to people.
func (s *Score) Statistics(ctx context.Context, images *dataset.Dataset, what string) (*metric.Statistics, error) {
	features, err := s.network.Features(ctx, s.on, images.X, images.Height, images.Width, images.Channels, func(done, total int) {
		s.say(run.Event{Message: "features of " + what, Step: done, Total: total})
	})
	if err != nil {
		return nil, err
	}
	return metric.NewStatistics(features)
}

// Cached are Statistics of images that are measured often, kept in the user's
// cache.
func (s *Score) Cached(ctx context.Context, images *dataset.Dataset, what string) (*metric.Statistics, error) {
	text, err := binary.Append(nil, binary.LittleEndian, images.X)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %s %s %x %d×%d×%d×%d", s.Name(), s.network.Digest(), s.on.Name, sha256.Sum256(text), images.Len(), images.Height, images.Width, images.Channels)
	return metric.CachedStatistics(key, func() (*metric.Statistics, error) { return s.Statistics(ctx, images, what) })
}

// Generated are Statistics of what a run has generated, which it keeps
// (measures/NAME-IMAGES.npz of its artefacts, as other programs read them; 34 MB of 2048
// features, 5 of 768). which tells several of its sets of images apart, "" if it has one.
func (s *Score) Generated(ctx context.Context, r *run.Run, images *dataset.Dataset, which string) (*metric.Statistics, error) {
	made, err := s.Statistics(ctx, images, "generated images")
	if err != nil {
		return nil, err
	}
	return made, r.WriteFile(fmt.Sprintf("measures/%s%s-%d.npz", s.Name(), which, images.Len()), made.Save)
}

// Distance is that of images that a run has generated to as many held-out ones, the first,
// or to all where there are fewer. which is Generated's.
func (s *Score) Distance(ctx context.Context, r *run.Run, images, held *dataset.Dataset, which string) (metric.Value, error) {
	real, err := s.Cached(ctx, First(held, images.Len()), "held-out images")
	if err != nil {
		return metric.Value{}, err
	}
	made, err := s.Generated(ctx, r, images, which)
	if err != nil {
		return metric.Value{}, err
	}
	return s.Between(made, real)
}

// Between is the distance of two samples, with a note on what biases it.
func (s *Score) Between(a, b *metric.Statistics) (metric.Value, error) {
	return metric.Frechet{Features: s.network.Dim()}.Between(a, b)
}

// First returns the first n images, or all if there are fewer.
func First(d *dataset.Dataset, n int) *dataset.Dataset {
	first := *d
	n = min(n, d.Len())
	first.X, first.Labels = d.X[:n*d.Dim()], nil
	if d.Labels != nil {
		first.Labels = d.Labels[:n]
	}
	return &first
}
