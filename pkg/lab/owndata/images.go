package owndata

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"molehill/pkg/dataset"
	"molehill/viz"
)

// Images writes grey images with classes to the folder at path, if f lacks it: a PNG file
// each, in subfolders that are named like the classes.
func (f Folder) Images(d *dataset.Dataset, path string) error {
	if !f.lacks(path) {
		return nil
	}
	if err := d.Check(); err != nil {
		return err
	}
	if d.Channels != 1 || d.Labels == nil {
		return fmt.Errorf("owndata: %s has %d channels and %d labels; expected grey images, each with a label", d.Name, d.Channels, len(d.Labels))
	}
	half := path + ".half" // until all are there
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	for i := range d.Len() {
		folder := filepath.Join(half, d.Classes[d.Labels[i]])
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := writePNG(filepath.Join(folder, fmt.Sprintf("%05d.png", i)), d, i); err != nil {
			return err
		}
	}
	sum, err := digest(half)
	if err != nil {
		return err
	}
	if err := mark(path, sum); err != nil {
		return err
	}
	return os.Rename(half, path)
}

// writePNG writes image i of d.
func writePNG(path string, d *dataset.Dataset, i int) error {
	drawn := image.NewGray(image.Rect(0, 0, d.Width, d.Height))
	for k, v := range d.Row(i) {
		drawn.Pix[k] = byte(255*v + 0.5)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(file, drawn), file.Close())
}

// Beside puts images of made beside images of others, of which each class has a row: the
// first so many of each, and a gap between. Both have labels, and others the shape and the
// order of classes of made. Where a class has fewer images, places stay white.
func Beside(made, others *dataset.Dataset, each int) viz.Images {
	f := viz.Images{Height: made.Height, Width: made.Width, Channels: made.Channels, Cols: 2*each + 1, RowLabels: made.Classes}
	white := slices.Repeat([]float32{1}, made.Dim())
	some := func(d *dataset.Dataset, class int) {
		left := each
		for i, label := range d.Labels {
			if label == class && left > 0 {
				f.X = append(f.X, d.Row(i)...)
				left--
			}
		}
		for range left {
			f.X = append(f.X, white...)
		}
	}
	for class := range made.Classes {
		some(made, class)
		f.X = append(f.X, white...)
		some(others, class)
	}
	return f
}
