package lab

import (
	"context"
	"fmt"

	"molehill/pkg/run"
	"molehill/viz"
)

// watch shows progress until nothing is computed any more. A cell that is
// interrupted stops watching; the run goes on.
func watch(r *run.Run) error {
	var bar *viz.Progress
	defer func() {
		if bar != nil {
			bar.Done()
		}
	}()
	for u := range r.Watch(context.Background()) {
		if u.Err != nil {
			return u.Err
		}
		for _, e := range u.Events {
			if e.Total > 0 && bar == nil {
				bar = viz.NewProgress(r.Spec.Experiment, e.Total)
			}
			if bar != nil {
				bar.Set(e.Step, note(e))
			}
		}
	}
	return nil
}

// note says how a run goes: its message, or the first of its values.
func note(e run.Event) string {
	if e.Message != "" {
		return e.Message
	}
	for name, value := range e.Values {
		return fmt.Sprintf("%s %.4g", name, value)
	}
	return ""
}
