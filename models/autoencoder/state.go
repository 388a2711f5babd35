package autoencoder

import (
	"fmt"
	"io"
)

// stateMeta is the metadata of a saved training.
type stateMeta struct {
	Format   int         `json:"format"`
	Config   Config      `json:"config"`
	Training TrainConfig `json:"training"`
	Images   int         `json:"images"`
	Step     int         `json:"step"`
	Loss     float64     `json:"loss"`
}

// Save writes the state of the training: weights, Adam's moments and counters,
// and what it belongs to. Restore continues from it.
func (t *Training) Save(w io.Writer) error {
	meta := stateMeta{fileFormat, t.target.Config, t.config, t.n, t.step, t.loss}
	if err := t.trainer.Save(w, meta); err != nil {
		return fmt.Errorf("autoencoder: saving the training: %w", err)
	}
	return nil
}

// Restore puts a new training where Save left another of the same
// configuration and images: its next step is the one that would have followed.
// On the same backend its results are the same to the last bit.
func (t *Training) Restore(r io.Reader) error {
	var meta stateMeta
	err := t.trainer.Restore(r, &meta, func() error {
		if meta.Format > fileFormat {
			return &FormatError{meta.Format, fileFormat}
		}
		meta.Config = meta.Config.complete()
		found, expected := meta, stateMeta{meta.Format, t.target.Config, t.config, t.n, meta.Step, meta.Loss}
		if found != expected {
			return fmt.Errorf("the saved training has configuration %+v, %+v and %d images, this one %+v, %+v and %d; restore it with its own",
				found.Config, found.Training, found.Images, expected.Config, expected.Training, expected.Images)
		}
		if meta.Step < 0 || meta.Step > t.total {
			return fmt.Errorf("the saved training stands at step %d of %d; the file was changed, start again", meta.Step, t.total)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("autoencoder: restoring the training: %w", err)
	}
	t.step, t.loss = meta.Step, meta.Loss
	return nil
}
