package dataset

import (
	"context"
	"fmt"

	"molehill/pkg/dataset/glyph"
	"molehill/pkg/plugin"
)

func init() { Registry.Register(glyphs{}) }

// glyphs is MNIST's stand-in that needs no files: digits drawn from fonts.
// Options.N images (60,000 if 0) are for training, of which fewer are the
// first of more, and 10,000 for testing.
type glyphs struct{}

func (glyphs) Describe() plugin.Info {
	return plugin.Info{
		Name:    "glyphs",
		Summary: "digits drawn from fonts with random warps, 28×28, in ten classes; public, needs no files",
		Version: "1",
		Source:  "generated from the Go fonts (Bigelow & Holmes, BSD licence)",
	}
}

func (glyphs) Public() bool { return true }

// Pinned marks rows that the version fixes, and Pictures those that are images.
func (glyphs) Pinned()   {}
func (glyphs) Pictures() {}

func (glyphs) Load(ctx context.Context, o Options) (*Splits, error) {
	n, err := generated("glyphs", o.N, 60_000)
	if err != nil {
		return nil, err
	}
	train, err := drawGlyphs(ctx, n, o.Seed, 0)
	if err != nil {
		return nil, err
	}
	test, err := drawGlyphs(ctx, 10_000, o.Seed, 1)
	if err != nil {
		return nil, err
	}
	return &Splits{Train: train, Test: test}, nil
}

func drawGlyphs(ctx context.Context, n int, seed, set uint64) (*Dataset, error) {
	pixels, labels, err := glyph.Draw(ctx, n, seed, set)
	if err != nil {
		return nil, err
	}
	return &Dataset{
		Name: "glyphs", Origin: fmt.Sprintf("generated from seed %d", seed),
		Height: glyph.Side, Width: glyph.Side, Channels: 1,
		X: brightness(pixels), Labels: labels, Classes: digits,
	}, nil
}
