package swae

import (
	"context"
	"io"

	"molehill/pkg/run"
	"molehill/viz"
)

// What a run shows.
const (
	Columns   = 10   // of a grid of images
	generated = 6    // rows of generated images
	scattered = 2000 // codes
	between   = 10   // images of an interpolation, its ends among them
)

// picture leaves, as numbers (.npy) and to look at (.png), after 004's Figures 2, 3
// and 7 to 11:
//
//   - samples: the first held-out image of each class, those reconstructed, and rows of
//     generated images, [·, 784];
//   - interpolations: of each two of them, decoded along the line between their codes, on
//     the sphere if there is a law, [pairs·10, 784];
//   - codes: of the first held-out images, with their labels behind, [·, latent + 1];
//   - drawn, with a law or passes: points that images are generated from, [·, latent].
func (t *training) picture(ctx context.Context, r *run.Run, codes []float32) error {
	earliest := t.earliest()
	originals := rows(t.data.held, earliest)
	again, err := t.autoencode(originals)
	if err != nil {
		return err
	}
	drawn, err := t.draw(ctx, scattered)
	if err != nil {
		return err
	}
	made, err := t.render(drawn.Data[:generated*Columns*t.config.Latent])
	if err != nil {
		return err
	}
	grid := append(append(originals, again...), made...)
	if err := save(r, "samples", grid, pixels, viz.Images{X: grid, Height: side, Width: side, Cols: Columns,
		Title: "Held-out images, the same reconstructed, and generated ones"}); err != nil {
		return err
	}
	dim := t.config.Latent
	ends := make([][]float32, len(earliest))
	for k, i := range earliest {
		ends[k] = codes[i*dim : (i+1)*dim]
	}
	line := points(interpolate(ends, dim), dim)
	if t.law != nil {
		line.OnSphere()
	}
	along, err := t.images(line.Data)
	if err != nil {
		return err
	}
	if err := save(r, InterpolationsName, along, pixels, lines(along)); err != nil {
		return err
	}
	if err := r.WriteJSON(classesFile, t.data.held.Classes); err != nil {
		return err
	}
	return t.scatter(r, codes, drawn.Data)
}

// save leaves numbers, and a picture of them.
func save(r *run.Run, name string, values []float32, columns int, figure viz.Figure) error {
	if err := r.WriteTable(name+".npy", values, columns); err != nil {
		return err
	}
	return r.WriteFile(name+".png", func(to io.Writer) error { return figure.PNG(to) })
}

// earliest are the rows of the first held-out image of each class that has one.
func (t *training) earliest() (at []int) {
	for class := range t.data.held.Classes {
		for i, label := range t.data.held.Labels {
			if label == class {
				at = append(at, i)
				break
			}
		}
	}
	return at
}

// interpolate returns the codes (1−η)·z_i + η·z_j for all pairs i < j and η from 0 to 1
// (004, Figure 7).
func interpolate(ends [][]float32, dim int) []float32 {
	var all []float32
	for i, from := range ends {
		for _, to := range ends[i+1:] {
			for l := range between {
				eta := float32(l) / (between - 1)
				for k := range dim {
					all = append(all, (1-eta)*from[k]+eta*to[k])
				}
			}
		}
	}
	return all
}

// scatter shows codes of held-out images over points that images are generated from.
func (t *training) scatter(r *run.Run, codes, drawn []float32) error {
	dim := t.config.Latent
	n := min(scattered, len(codes)/dim)
	table := make([]float32, 0, n*(dim+1))
	for i := range n {
		table = append(append(table, codes[i*dim:(i+1)*dim]...), float32(t.data.held.Labels[i]))
	}
	all := Codes{Dim: dim, Table: table, Classes: t.data.held.Classes, Seed: r.Spec.Seed}
	if t.law != nil || t.config.Passes > 0 {
		all.Drawn = drawn
		if err := r.WriteTable(drawnFile, drawn, dim); err != nil {
			return err
		}
	}
	figure, ok := all.Figure()
	if !ok { // one coordinate has no plane
		return r.WriteTable(CodesName+".npy", table, dim+1)
	}
	return save(r, CodesName, table, dim+1, figure)
}
