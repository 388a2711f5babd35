package autoencoder

import (
	"fmt"
	"io"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/layer"
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
	var variables layer.Params
	for v := range t.store.IterVariables() {
		if v.DType() != dtypes.Float32 {
			continue // GoMLX's global step, which nothing here reads
		}
		value, err := t.value(v.Path())
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(v.Path(), "/")
		variables = append(variables, layer.Param{Spec: layer.Spec{Name: name, Shape: v.Shape().Dimensions}, Value: value})
	}
	meta := stateMeta{fileFormat, t.target.Config, t.config, t.n, t.step, t.loss}
	if err := writeArchive(w, meta, variables); err != nil {
		return fmt.Errorf("autoencoder: saving the training: %w", err)
	}
	return nil
}

// Restore puts a new training where Save left another of the same
// configuration and images: its next step is the one that would have followed.
// On the same backend its results are the same to the last bit.
func (t *Training) Restore(r io.Reader) error {
	var meta stateMeta
	variables, err := readArchive(r, &meta)
	if err != nil {
		return fmt.Errorf("autoencoder: restoring the training: %w", err)
	}
	if meta.Format > fileFormat {
		return &FormatError{meta.Format, fileFormat}
	}
	found, expected := meta, stateMeta{meta.Format, t.target.Config, t.config, t.n, meta.Step, meta.Loss}
	if found != expected {
		return fmt.Errorf("autoencoder: the saved training has configuration %+v, %+v and %d images, this one %+v, %+v and %d; restore it with its own",
			found.Config, found.Training, found.Images, expected.Config, expected.Training, expected.Images)
	}
	if meta.Step < 0 || meta.Step > t.total {
		return fmt.Errorf("autoencoder: the saved training stands at step %d of %d; the file was changed, start again", meta.Step, t.total)
	}
	weights := map[string]bool{}
	for _, spec := range t.target.Config.network().Params() {
		if _, err := variables.take(spec.Name, spec.Shape); err != nil {
			return fmt.Errorf("autoencoder: restoring the training: %w", err)
		}
		weights[spec.Name] = true
	}
	for name, p := range variables {
		value := tensors.FromFlatDataAndDimensions(p.Value, p.Shape...)
		v := t.store.GetVariable("/" + name)
		if v == nil {
			v, err = t.store.CreateVariable("/"+name, value)
		} else {
			err = v.SetValue(value)
		}
		if err != nil {
			return fmt.Errorf("autoencoder: restoring %s: %w", name, err)
		}
		v.SetTrainable(weights[name])
	}
	t.step, t.loss = meta.Step, meta.Loss
	return nil
}
