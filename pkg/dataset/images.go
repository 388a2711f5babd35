package dataset

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"molehill/pkg/dataset/idx"
	"molehill/pkg/plugin"
)

// readIDX makes a data set of images and labels; the paths stand in errors.
func readIDX(images, labels io.Reader, imagesPath, labelsPath string, classes []string) (*Dataset, error) {
	pixels, err := idx.Images(images, imagesPath)
	if err != nil {
		return nil, err
	}
	tags, err := idx.Labels(labels, labelsPath)
	if err != nil {
		return nil, err
	}
	if n := pixels.Shape[0]; len(tags.Data) != n {
		return nil, &idx.Error{File: labelsPath, Expected: fmt.Sprintf("%d labels, one for each image of %s", n, imagesPath),
			Found: fmt.Sprint(len(tags.Data)), Do: "give files that belong together"}
	}
	d := &Dataset{
		Origin: filepath.Dir(imagesPath),
		Height: pixels.Shape[1], Width: pixels.Shape[2], Channels: 1,
		X: brightness(pixels.Data), Labels: make([]int, len(tags.Data)), Classes: classes,
	}
	for i, tag := range tags.Data {
		if int(tag) >= len(classes) {
			return nil, &idx.Error{File: labelsPath, Expected: fmt.Sprintf("labels from 0 to %d", len(classes)-1),
				Found: fmt.Sprintf("%d in row %d", tag, i), Do: "replace the file by a fresh copy, or name all classes"}
		}
		d.Labels[i] = int(tag)
	}
	return d, nil
}

// brightness maps 0…255 to [0, 1].
func brightness(pixels []byte) []float32 {
	var levels [256]float32
	for i := range levels {
		levels[i] = float32(i) / 255
	}
	x := make([]float32, len(pixels))
	for i, p := range pixels {
		x[i] = levels[p]
	}
	return x
}

// images is a data set of 60,000 and 10,000 labelled images in four IDX files:
// for training, images and labels; for testing, images and labels.
type images struct {
	info    plugin.Info
	classes []string
	files   [4]File
}

func (s images) Describe() plugin.Info { return s.info }
func (s images) Public() bool          { return false }

// Pinned marks rows that the version fixes, and Pictures those that are images.
func (images) Pinned()         {}
func (images) Pictures()       {}
func (s images) Files() []File { return slices.Clone(s.files[:]) }

// Load finds and verifies the files, and draws Options.N of the rows for
// training.
func (s images) Load(ctx context.Context, o Options) (*Splits, error) {
	paths, err := locate(s.info.Name, s.files[:], o.Dir)
	if err != nil {
		return nil, err
	}
	var parts [2]*Dataset
	var errs [2]error
	var readers sync.WaitGroup
	for i := range parts {
		readers.Go(func() { parts[i], errs[i] = s.read(ctx, s.files[2*i:], paths[2*i:]) })
	}
	readers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	train, err := parts[0].Draw(o.N, o.Seed)
	if err != nil {
		return nil, err
	}
	return &Splits{Train: train, Test: parts[1]}, nil
}

// read reads the first two files, images and labels.
func (s images) read(ctx context.Context, files []File, paths []string) (*Dataset, error) {
	var content [2]io.Reader
	for i := range content {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := files[i].Read(paths[i])
		if err != nil {
			return nil, fmt.Errorf("data set %q: %w", s.info.Name, err)
		}
		content[i] = bytes.NewReader(b)
	}
	d, err := readIDX(content[0], content[1], paths[0], paths[1], s.classes)
	if err != nil {
		return nil, err
	}
	d.Name = s.info.Name
	return d, nil
}

// pictured are the names of the data sets that say that they have images.
func pictured() (names []string) {
	for _, source := range Registry.All() {
		if _, ok := source.(Pictured); ok {
			names = append(names, source.Describe().Name)
		}
	}
	return names
}

// CheckImages refuses what the promise could not hold for or the networks not read:
// rows that are no images, and held-out images, which count as public, that are training
// images, or have pixels outside [0, 1]. Pixels of training images are brought there:
// which of these have others is private.
func (s *Splits) CheckImages() error {
	if d := s.Test; min(d.Height, d.Width) == 1 {
		return fmt.Errorf("data set %q: rows are %d numbers each, not images; take a data set of images, such as %s", d.Name, d.Dim(), strings.Join(pictured(), ", "))
	}
	outside := func(v float32) bool { return v < 0 || v > 1 }
	if i := slices.IndexFunc(s.Test.X, outside); i >= 0 {
		return fmt.Errorf("data set %q: held-out image %d has a pixel of %v; expected values in [0, 1], divide by the largest first", s.Test.Name, i/s.Test.Dim(), s.Test.X[i])
	}
	if slices.ContainsFunc(s.Train.X, outside) {
		train := *s.Train
		train.X = slices.Clone(train.X) // who made them may hold on to them
		for i, v := range train.X {
			train.X[i] = min(1, max(0, v))
		}
		s.Train = &train
	}
	rows, seed := map[uint64]bool{}, maphash.MakeSeed()
	sum := func(d *Dataset, i int) uint64 {
		row := d.Row(i)
		return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), 4*len(row)))
	}
	for i := range s.Train.Len() {
		rows[sum(s.Train, i)] = true
	}
	shared := 0
	for i := range s.Test.Len() {
		if rows[sum(s.Test, i)] {
			shared++
		}
	}
	if shared > s.Test.Len()/10 {
		return fmt.Errorf("data set %q: more than a tenth of the test images are training images too; test images count as public, so they must be others", s.Test.Name)
	}
	return nil
}
