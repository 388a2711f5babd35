package dpsinkhorn

import (
	"context"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// startRows are drawn of the data set that a generator learns first.
const startRows = 20_000

// startBatch reads those rows, if there are any, as they are in the student's space.
func (s *student) startBatch(ctx context.Context, say func(run.Event)) (b Batch, err error) {
	name := s.config.Start
	if name == "" {
		return b, nil
	}
	if _, err := s.loss(); err != nil { // which a mean embedding has no other use for
		return b, err
	}
	splits, err := dataset.Load(ctx, name, dataset.Options{Seed: experiment.SplitSeed, N: startRows, Progress: func(what string, done, total int) {
		say(run.Event{Message: fmt.Sprintf("%s: %d of %d", what, done, total)})
	}})
	if err != nil {
		return b, err
	}
	images := splits.Train
	if images.Labels == nil || len(images.Classes) != len(s.rows.Classes) {
		return b, fmt.Errorf("start is %s, with %d classes; a generator of %d learns first of as many, take another data set, or start_steps=0", name, len(images.Classes), len(s.rows.Classes))
	}
	b.Labels = images.Labels
	if s.rows.latents != nil {
		b.Points, err = s.rows.latents.Latents(ctx, images, say)
		return b, err
	}
	if images.Height != s.rows.Height || images.Width != s.rows.Width || images.Channels != s.rows.Channels {
		return b, fmt.Errorf("start is %s, of images %d×%d×%d; a generator of %d×%d×%d learns first of the same, take another data set, or start_steps=0",
			name, images.Height, images.Width, images.Channels, s.rows.Height, s.rows.Width, s.rows.Channels)
	}
	b.Points = signed(images)
	return b, nil
}

// begin is the course on public rows, without noise.
func (s *student) begin(rows Batch) course {
	return course{steps: s.config.StartSteps, enrol: func() (teacher, error) {
		loss, err := s.loss()
		if err != nil {
			return nil, err
		}
		c := s.config
		program, err := loss.Compile(s.rows.Backend, c.Generated, c.Batch, s.rows.Private.Dim)
		return &byParticles{program, rows, c.Batch, s.public}, err
	}}
}

// restart forgets what the optimiser remembers of the first steps.
func (s *student) restart() error {
	fresh, err := s.made.Restart(s.rows.Backend)
	if err != nil {
		return err
	}
	s.made.Close()
	s.made = fresh
	return nil
}
