package dpsinkhorn

import (
	"context"
	"fmt"

	"molehill/models/semidebiased"
	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// startRows are drawn of the data set that a generator learns first.
const startRows = 20_000

// startBatch reads those rows, if there are any, as they are in the training's space.
func (t *training) startBatch(ctx context.Context, say func(run.Event)) (b semidebiased.Batch, err error) {
	name := t.config.Start
	if name == "" {
		return b, nil
	}
	if _, err := t.loss(); err != nil { // which a mean embedding has no other use for
		return b, err
	}
	splits, err := experiment.Load(ctx, name, dataset.Options{N: startRows}, say)
	if err != nil {
		return b, err
	}
	images := splits.Train
	if images.Labels == nil || len(images.Classes) != len(t.rows.Classes) {
		return b, fmt.Errorf("start is %s, with %d classes; a generator of %d learns first of as many, take another data set, or start_steps=0", name, len(images.Classes), len(t.rows.Classes))
	}
	b.Labels = images.Labels
	if t.rows.latents != nil {
		b.Points, err = t.rows.latents.Latents(ctx, images, say)
		return b, err
	}
	if images.Height != t.rows.Height || images.Width != t.rows.Width || images.Channels != t.rows.Channels {
		return b, fmt.Errorf("start is %s, of images %d×%d×%d; a generator of %d×%d×%d learns first of the same, take another data set, or start_steps=0",
			name, images.Height, images.Width, images.Channels, t.rows.Height, t.rows.Width, t.rows.Channels)
	}
	b.Points = signed(images)
	return b, nil
}

// startStage is the stage on public rows, without noise.
func (t *training) startStage(rows semidebiased.Batch) stage {
	return stage{steps: t.config.StartSteps, open: func() (guide, error) {
		loss, err := t.loss()
		if err != nil {
			return nil, err
		}
		c := t.config
		program, err := loss.Compile(t.rows.Backend, c.Generated, c.Batch, t.rows.Private.Dim)
		return &byParticles{program, rows, c.Batch, t.public}, err
	}}
}

// restart forgets what the optimiser remembers of the first steps.
func (t *training) restart() error {
	fresh, err := t.generator.Restart(t.rows.Backend)
	if err != nil {
		return err
	}
	t.generator.Close()
	t.generator = fresh
	return nil
}
