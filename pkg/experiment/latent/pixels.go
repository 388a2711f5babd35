package latent

import (
	"context"
	"fmt"
	"math/rand/v2"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// PixelW2 is the name of the distance between images.
const PixelW2 = "pixel sliced W₂"

// pixelDirections are random directions of it, independent ones: a basis of images has
// 1,024 or more, and one of 8 latents is drawn 64 times for as many.
const pixelDirections = 512

// PixelDistance measures images decoded from latents by their sliced W₂ to all held-out
// images, pixel by pixel. The floor is the distance of as many real public images: a
// flow of latents cannot be expected to reach it, as decoded images lack what the
// autoencoder leaves out.
func (d *Data) PixelDistance(ctx context.Context, name string, x transport.Points, seed uint64, say func(run.Event)) (experiment.Measured, error) {
	found := experiment.Measured{Rows: x.Len(), Computed: d.computed()}
	held := transport.Points{Dim: d.Pixels, Data: d.Images().X}
	rng := rand.New(rand.NewPCG(seed, 0x706978656c))
	u := sliced.Uniform(d.Pixels, pixelDirections, rng)
	say(run.Event{Message: fmt.Sprintf("decoding %d images", x.Len())})
	images, err := d.Decode(ctx, x.Data)
	if err != nil {
		return found, err
	}
	say(run.Event{Message: fmt.Sprintf("comparing %d images with %d held-out ones on %d directions", x.Len(), held.Len(), u.Count)})
	made, err := sliced.SW2(transport.Points{Dim: d.Pixels, Data: images}, held, u)
	if err != nil {
		return found, err
	}
	real, err := publicImages(ctx, name, x.Len(), d.model.Shape.Side, rng)
	if err != nil {
		return found, err
	}
	floor, err := sliced.SW2(transport.Points{Dim: d.Pixels, Data: real.X}, held, u)
	if err != nil {
		return found, err
	}
	found.Values = run.Values{PixelW2: made.Value, PixelW2 + " error": made.StandardError, PixelW2 + " floor": floor.Value}
	found.Note = fmt.Sprintf("decoded images beside %d held-out ones over %d independent directions of %d pixels; the floor is that of %d real public images", held.Len(), u.Count, d.Pixels, real.Len())
	return found, nil
}

// publicImages draws some of the public half, as large as Decode makes them: count of
// them, or all if there are fewer.
func publicImages(ctx context.Context, name string, count, side int, rng *rand.Rand) (*dataset.Dataset, error) {
	splits, err := dataset.Load(ctx, name, dataset.Options{Seed: experiment.SplitSeed})
	if err != nil {
		return nil, err
	}
	public := dataset.PublicPrivate(splits.Train.Len(), experiment.SplitSeed).Public
	rows := make([]int, 0, count)
	for _, k := range rng.Perm(len(public))[:min(count, len(public))] {
		rows = append(rows, public[k])
	}
	return padded(splits.Train.Subset(rows), side), nil
}
