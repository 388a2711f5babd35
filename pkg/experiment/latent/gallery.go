package latent

import (
	"context"
	"fmt"
	"runtime"

	"molehill/models/backend"
	"molehill/pkg/cache"
	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// gallery is some of a data set's images as a network takes them: in pieces, as a
// padded copy of all of them may take more memory than everything else a run has.
type gallery struct {
	images *dataset.Dataset
	rows   []int // nil for all
	side   int   // padded to side×side
}

func (g gallery) count() int {
	if g.rows == nil {
		return g.images.Len()
	}
	return len(g.rows)
}

// pieces returns the images in order, a few at a time, by the number of the first.
func (g gallery) pieces(yield func(from int, piece *dataset.Dataset) bool) {
	for from := 0; from < g.count(); from += imagesAtOnce {
		to := min(from+imagesAtOnce, g.count())
		var piece *dataset.Dataset
		if g.rows != nil {
			piece = g.images.Subset(g.rows[from:to])
		} else {
			all := *g.images
			all.X, all.Labels = all.X[from*all.Dim():to*all.Dim()], nil
			piece = &all
		}
		if !yield(from, padded(piece, g.side)) {
			return
		}
	}
}

// padded are images in a frame of side×side, themselves where they fill it.
func padded(images *dataset.Dataset, side int) *dataset.Dataset {
	if images.Height >= side && images.Width >= side {
		return images
	}
	return images.Pad(side, side)
}

// latents encodes the images, or finds their latents in the user's cache: a file
// that only the user can read, named by what determines it. A cache that cannot
// be read or written is only slow.
func (g gallery) latents(ctx context.Context, b *backend.Backend, model *network, say func(run.Event)) ([]float32, error) {
	path := cachePath(b, model, g)
	if latents, err := readLatents(path, g.count()*model.Shape.Code); err == nil {
		return latents, nil
	}
	latents := make([]float32, 0, g.count()*model.Shape.Code)
	// No step of the run: a run that is continued forgets events beyond its
	// checkpoint.
	tell := func(done int) {
		say(run.Event{Message: fmt.Sprintf("encoding images of %s on %s: %d of %d", g.images.Name, b.Name, done, g.count())})
	}
	for from, piece := range g.pieces {
		tell(from)
		part, err := model.Encode(ctx, b, piece.X)
		if err != nil {
			return nil, err
		}
		latents = append(latents, part...)
		// A heap may grow to twice of what it holds, which here are all images. This
		// takes hundredths of a second, a piece takes seconds.
		runtime.GC()
	}
	tell(g.count())
	if err := cache.Write(path, bytesOf(nil, latents)); err != nil && model.save != nil {
		say(run.Event{Message: "the latents are not cached: " + err.Error()})
	}
	return latents, nil
}

// imagesAtOnce are encoded between two looks at the progress: a multiple of the
// autoencoder's batch.
const imagesAtOnce = 2000
