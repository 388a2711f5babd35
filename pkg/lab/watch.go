package lab

import (
	"context"
	"encoding/json"
	"fmt"

	"molehill/pkg/run"
	"molehill/privacy"
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
				bar = viz.NewProgress(title(r), e.Total)
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

// title names a run, with its ε where it has one.
func title(r *run.Run) string {
	var settings struct {
		Epsilon *privacy.Epsilon `json:"epsilon"`
	}
	if err := json.Unmarshal(r.Spec.Config, &settings); err != nil || settings.Epsilon == nil {
		return r.Spec.Experiment
	}
	return fmt.Sprintf("%s, ε = %v", r.Spec.Experiment, *settings.Epsilon)
}
