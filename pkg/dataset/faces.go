package dataset

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"

	"molehill/pkg/cache"
	"molehill/pkg/dataset/celeba"
	"molehill/pkg/plugin"
)

func init() { Registry.Register(faces{}) }

// faces is CelebA. Options.Label names the attribute that labels the rows; rows
// have no labels without one.
//
// The original's 182,732 rows take 9 GB. With N only those drawn are read, and
// the 19,962 for testing, which take 1 GB.
type faces struct{}

func (faces) Describe() plugin.Info {
	return plugin.Info{
		Name:    "celeba",
		Summary: "photographs of faces, 64×64 in colour, with 40 attributes to choose labels from; real people: never to be shared",
		Version: "1",
		Source:  "Liu, Luo, Wang & Tang 2015; non-commercial research only",
	}
}

func (faces) Public() bool { return false }

// Restriction implements Restricted.
func (faces) Restriction() string {
	return "CelebA shows real people and is for non-commercial research only: do not share or publish its pictures"
}

// Labelled marks rows that have labels to choose from, and Pictures those that are images.
func (faces) Labelled() {}
func (faces) Pictures() {}

// Obtain implements ByHand.
func (faces) Obtain() string {
	return "get img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt from its authors (mmlab.ie.cuhk.edu.hk/projects/CelebA.html), who ask every user to agree to its terms, and unpack them into the folder celeba/ of a data folder"
}

// Where implements ByHand.
func (f faces) Where(dir string) (string, error) {
	missing := &NotFoundError{Name: "celeba", Obtain: f.Obtain()}
	for _, folder := range Folders(dir) {
		at := filepath.Join(folder, "celeba")
		if _, ok := celeba.Present(at); ok {
			return at, nil
		}
		missing.Looked = append(missing.Looked, "no "+filepath.Join("celeba", celeba.Original.Images)+" in "+folder)
	}
	return "", missing
}

// open finds the images.
func (f faces) open(o Options) (*celeba.Set, error) {
	folder, err := f.Where(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := celeba.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("data set %q: %w", "celeba", err)
	}
	return s, nil
}

// Digest implements Digester: of the images' files, and of the labels if there
// are any.
func (f faces) Digest(ctx context.Context, o Options) (string, error) {
	s, err := f.open(o)
	if err != nil {
		return "", err
	}
	digest, err := s.Digest(ctx, o.tell("comparing images of celeba", len(s.Train)+len(s.Test), patience))
	if err != nil || o.Label == "" {
		return digest, err
	}
	all, err := s.Attribute(o.Label, slices.Concat(s.Train, s.Test))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, digest, o.Label, all))), nil
}

func (f faces) Load(ctx context.Context, o Options) (*Splits, error) {
	s, err := f.open(o)
	if err != nil {
		return nil, err
	}
	chosen, err := drawn("celeba", len(s.Train), o.N, o.Seed)
	if err != nil {
		return nil, err
	}
	origin := fmt.Sprintf("%s (%s, %d×%d)", s.Folder, s.Layout.Name, s.Layout.Width, s.Layout.Height)
	train := &Dataset{Origin: origin}
	all := chosen == nil
	if !all {
		names := make([]string, len(chosen))
		for i, row := range chosen {
			names[i] = s.Train[row]
		}
		train.Origin = drawnOrigin(origin, len(chosen), len(s.Train), o.Seed)
		s.Train = names
	}
	pixels, err := f.pixels(ctx, s, o, all)
	if err != nil {
		return nil, fmt.Errorf("data set %q: %w", "celeba", err)
	}
	first := len(s.Train) * celeba.Dim
	splits := &Splits{Train: train, Test: &Dataset{Origin: origin}}
	for _, part := range []struct {
		d      *Dataset
		names  []string
		pixels []byte
	}{{splits.Train, s.Train, pixels[:first]}, {splits.Test, s.Test, pixels[first:]}} {
		d := part.d
		d.Name, d.Height, d.Width, d.Channels, d.X = "celeba", celeba.Side, celeba.Side, 3, brightness(part.pixels)
		if o.Label == "" {
			continue
		}
		has, err := s.Attribute(o.Label, part.names)
		if err != nil {
			return nil, fmt.Errorf("data set %q: %w", "celeba", err)
		}
		d.Classes, d.Labels = []string{o.Label + ": no", o.Label + ": yes"}, make([]int, len(has))
		for i, yes := range has {
			if yes {
				d.Labels[i] = 1
			}
		}
	}
	return splits, nil
}

// pixels reads the images for training, then those for testing. All of them are
// kept in the user's cache, under the digest of their files.
func (faces) pixels(ctx context.Context, s *celeba.Set, o Options, all bool) ([]byte, error) {
	names := slices.Concat(s.Train, s.Test)
	read := func() ([]byte, error) {
		return s.Pixels(ctx, names, o.tell("reading images of celeba", len(names), patience))
	}
	folder, err := CacheFolder()
	if !all || err != nil {
		return read()
	}
	digest, err := s.Digest(ctx, o.tell("comparing images of celeba", len(names), patience))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "celeba.pixels", digest)
	pixels, err := cache.Read(path, len(names)*celeba.Dim)
	if err == nil {
		return pixels, nil
	}
	if pixels, err = read(); err != nil {
		return nil, err
	}
	_ = cache.Write(path, pixels) // without it the next time is only slow
	return pixels, nil
}
