package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"molehill/models/train"
)

// state is the metadata of a saved generator.
type state struct {
	Design    json.RawMessage `json:"config"`
	Optimizer train.Optimizer `json:"optimizer"` // absent from older ones, which are Adam's
	Step      int             `json:"step"`
}

func (g *Generator) state(step int) (state, error) {
	design, err := json.Marshal(g.design)
	if err != nil {
		return state{}, fmt.Errorf("generator: %w", err)
	}
	return state{design, g.optimizer, step}, nil
}

// Save writes the generator and what its optimiser remembers as they are after a step.
func (g *Generator) Save(w io.Writer, step int) error {
	state, err := g.state(step)
	if err != nil {
		return err
	}
	return g.trainer.Save(w, state)
}

// Restore continues from what Save has written after the same step.
func (g *Generator) Restore(r io.Reader, step int) error {
	here, err := g.state(step)
	if err != nil {
		return err
	}
	var saved state
	err = g.trainer.Restore(r, &saved, func() error {
		var design bytes.Buffer
		if err := json.Compact(&design, saved.Design); err != nil {
			return err
		}
		if saved.Step != step || !bytes.Equal(design.Bytes(), here.Design) {
			return fmt.Errorf("it is of %s after %d steps, this one of %s after %d", design.Bytes(), saved.Step, here.Design, step)
		}
		if o := saved.Optimizer.Complete(); o != here.Optimizer {
			return fmt.Errorf("it was trained by %+v, this one is by %+v", o, here.Optimizer)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("generator: the saved state: %w", err)
	}
	return nil
}
