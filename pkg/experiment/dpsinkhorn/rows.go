package dpsinkhorn

import (
	"context"
	"fmt"
	"slices"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/latent"
	"molehill/pkg/run"
	"molehill/transport"
)

// Rows are what a training works on.
type Rows struct {
	Private    semidebiased.Batch // images from −1 to 1, or latents on the unit sphere
	Test       transport.Points   // held-out rows of the same kind
	Held       *dataset.Dataset   // held-out images in [0, 1], as a generator makes them
	Classes    []string           // what labels name: public
	Height     int                // of an image
	Width      int
	Channels   int
	Origin     string   // where the records came from
	NotCovered []string // what the privacy of a training does not cover
	Backend    *backend.Backend

	latents *latent.Data // nil for pixels
}

// side is of the images of faces (001, Section 5.1).
const side = 32

// load returns a data set's rows: in pixels all that there are for training, as
// latents the half that the autoencoder has not seen.
func load(ctx context.Context, c *Config, say func(run.Event)) (*Rows, error) {
	if c.Space == Latents {
		return loadLatents(ctx, c, say)
	}
	splits, err := experiment.Load(ctx, c.Dataset, dataset.Options{Label: c.Label}, say)
	if err != nil {
		return nil, err
	}
	if err := splits.CheckImages(); err != nil {
		return nil, err
	}
	train, held := splits.Train, splits.Test
	train, held = ofSide(train), ofSide(held)
	if err := checkLabels(c, train.Labels, train.Classes); err != nil {
		return nil, err
	}
	if train.Height != train.Width {
		return nil, fmt.Errorf("images of %s have %d×%d pixels; the generators make square ones, crop or pad them", c.Dataset, train.Height, train.Width)
	}
	b, err := backend.Open()
	if err != nil {
		return nil, err
	}
	d := &Rows{
		Private: semidebiased.Batch{Points: signed(train), Labels: train.Labels}, Test: signed(held), Held: held, Classes: train.Classes,
		Height: train.Height, Width: train.Width, Channels: train.Channels, Origin: train.Origin, Backend: b,
	}
	d.NotCovered = []string{fmt.Sprintf("the held-out images of %s, which measure the result and count as public", c.Dataset), experiment.ClassesNotCovered(len(d.Classes)), experiment.HalfNotCovered(c.Dataset)}
	return d, nil
}

func loadLatents(ctx context.Context, c *Config, say func(run.Event)) (*Rows, error) {
	latents, err := latent.LoadWith(ctx, c.Dataset, latent.Options{Weights: c.Weights, Label: c.Label, Inputs: c.Inputs}, say)
	if err != nil {
		return nil, err
	}
	if err := checkLabels(c, latents.Labels.Private, latents.Classes); err != nil {
		return nil, err
	}
	held := ofSide(latents.Images())
	d := &Rows{
		Private: semidebiased.Batch{Points: latents.Private, Labels: latents.Labels.Private}, Test: latents.Test, Held: held, Classes: latents.Classes,
		Height: held.Height, Width: held.Width, Channels: held.Channels, Origin: held.Origin, Backend: latents.Backend, latents: latents,
	}
	d.NotCovered = append(slices.Clone(latents.NotCovered), experiment.ClassesNotCovered(len(d.Classes)))
	return d, nil
}

// checkLabels says what is wrong with the labels of rows that a generator is to be
// told.
func checkLabels(c *Config, labels []int, classes []string) error {
	if labels == nil || len(classes) < 2 {
		return fmt.Errorf("rows of %s have no labels; DP-Sinkhorn generates classes, take a data set that has some", c.Dataset)
	}
	if c.Samples < len(classes) {
		return fmt.Errorf("samples is %d and %s has %d classes; score at least a row of each", c.Samples, c.Dataset, len(classes))
	}
	if err := semidebiased.CheckLabels(labels, len(classes)); err != nil {
		return fmt.Errorf("private rows of %s: %w", c.Dataset, err)
	}
	return nil
}

// signed returns images of values from −1 to 1.
func signed(d *dataset.Dataset) transport.Points {
	x := transport.NewPoints(d.Len(), d.Dim())
	for i, v := range d.X {
		x.Data[i] = 2*v - 1
	}
	return x
}

// decode gives a data set the images of latents, some at a time: decoded ones may be
// four times as large.
func (d *Rows) decode(ctx context.Context, to *dataset.Dataset, x transport.Points) error {
	const together = 1000
	full := *d.Held
	full.Height, full.Width = d.latents.Side(), d.latents.Side()
	to.X = make([]float32, 0, x.Len()*to.Dim())
	for from := 0; from < x.Len(); from += together {
		decoded, err := d.latents.Decode(ctx, x.Data[from*x.Dim:min(from+together, x.Len())*x.Dim])
		if err != nil {
			return err
		}
		if full.X = decoded; full.Height == 2*d.Height {
			decoded = halve(&full).X
		}
		to.X = append(to.X, decoded...)
	}
	return nil
}

// ofSide brings images of 64×64 pixels to the size of 001's faces, and says so in their
// origin; others stay as they are.
func ofSide(d *dataset.Dataset) *dataset.Dataset {
	if d.Height != 2*side || d.Width != 2*side {
		return d
	}
	half := halve(d)
	half.Origin = fmt.Sprintf("%s, %d×%[2]d pixels", d.Origin, side)
	return half
}

// halve returns images of half the side: the means of 2×2 pixels.
func halve(d *dataset.Dataset) *dataset.Dataset {
	half := *d
	half.Height, half.Width = d.Height/2, d.Width/2
	half.X = make([]float32, d.Len()*half.Dim())
	line := d.Width * d.Channels
	for i := range d.Len() {
		from, to := d.Row(i), half.Row(i)
		for y := range half.Height {
			for x := range half.Width {
				for channel := range d.Channels {
					at := 2*y*line + 2*x*d.Channels + channel
					to[(y*half.Width+x)*d.Channels+channel] = (from[at] + from[at+d.Channels] + from[at+line] + from[at+line+d.Channels]) / 4
				}
			}
		}
	}
	return &half
}

// place moves what was generated to where rows can be: post-processing that knows
// the space.
func (d *Rows) place(x transport.Points) transport.Points {
	x = x.Clone()
	if d.latents != nil {
		x.OnSphere()
	}
	return x
}

// images returns what generated rows look like, as a data set in [0, 1].
func (d *Rows) images(ctx context.Context, x transport.Points, labels []int) (*dataset.Dataset, error) {
	made := *d.Held
	made.Name, made.Origin, made.Labels = "generated", "a generator", labels
	if d.latents != nil {
		return &made, d.decode(ctx, &made, d.place(x))
	}
	made.X = make([]float32, len(x.Data))
	for i, v := range x.Data {
		made.X[i] = min(1, max(0, (v+1)/2))
	}
	return &made, nil
}
