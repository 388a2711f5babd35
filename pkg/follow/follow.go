// Package follow shows how a run that is computed comes along: a bar for each part of the
// work, below a notebook's cell or on a terminal, and where it waits for a cluster.
package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/janpfeifer/gonb/gonbui"

	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Run shows a run's progress, in a notebook or on a terminal, until nothing is
// computed any more or ctx ends. Whoever stops following stops nothing. A run that
// waits for a cluster is waited for, and so is one that nobody has begun, which is
// said. look is called now and then while there may be something new; it may be nil.
func Run(ctx context.Context, r *run.Run, look func()) error {
	if err := await(ctx, r); err != nil {
		return err
	}
	t := teller{run: r, open: func(title string, total int) bar { return viz.NewProgress(title, total) }}
	defer t.finish()
	said := false
	for u := range r.Watch(ctx) {
		if u.State == run.Pending {
			fmt.Fprintf(os.Stderr, "%[1]s: no process computes it yet; waiting for one (`molehill resume %[1]s` starts it)\n", run.Short(r.ID))
		}
		switch {
		case u.Err == nil:
		case u.State == "":
			return u.Err
		case !said: // of what it tells on the way; it goes on
			said = true
			fmt.Fprintf(os.Stderr, "%s: %v; what stands there is passed over\n", run.Short(r.ID), u.Err)
		}
		t.tell(u.Events)
		if look != nil {
			look()
		}
	}
	return ctx.Err()
}

// bar is a line that shows how far a part of the work is.
type bar interface {
	Set(step int, note string)
	Done()
}

// teller shows the events of a run, a bar for each part of the work: of steps that
// are counted, or of words alone.
type teller struct {
	run   *run.Run
	open  func(title string, total int) bar
	bar   bar
	shown run.Event // by the bar
}

// tell shows events that came together. Of such only the end is shown: who comes late
// to a run must not take its past for its speed.
func (t *teller) tell(events []run.Event) {
	for i, e := range events {
		last := i+1 == len(events)
		switch {
		case e.Total > 0 && (last || events[i+1].Total != e.Total):
			t.show(e, title(t.run, e), Note(e))
		case e.Total > 0 || e.Message == "" || !last:
		case t.bar != nil && t.shown.Step < t.shown.Total: // words in the midst of steps
			t.bar.Set(t.shown.Step, e.Message)
		default:
			t.show(run.Event{}, title(t.run, run.Event{}), e.Message)
		}
	}
}

func (t *teller) show(e run.Event, title, note string) {
	if t.bar == nil || e.Total != t.shown.Total { // another part of the work
		t.finish()
		t.bar = t.open(title, e.Total)
	}
	t.shown = e
	t.bar.Set(e.Step, note)
}

func (t *teller) finish() {
	if t.bar != nil {
		t.bar.Done()
	}
	t.bar = nil
}

// await shows where a run stands that waits for a cluster, until it does not.
func await(ctx context.Context, r *run.Run) error {
	var line viz.Live
	told := false
	err := launch.Await(ctx, r, func(text string) {
		told = true
		line.Update(text)
		if !gonbui.IsNotebook {
			fmt.Fprintf(os.Stderr, "%s: %s\n", run.Short(r.ID), text)
		}
	})
	if told {
		line.Update("the cluster has taken it up")
		line.Done()
	}
	return err
}

// title names what is done: what the event says, or the run with its ε, which its
// statement tells of all its releases together and its settings perhaps of some.
func title(r *run.Run, e run.Event) string {
	if e.Message != "" {
		return e.Message
	}
	if statement, err := r.Statement(); err == nil {
		return fmt.Sprintf("%s, ε = %v", r.Spec.Experiment, statement.Epsilon())
	}
	var settings struct {
		Epsilon *privacy.Epsilon `json:"epsilon"`
	}
	if err := json.Unmarshal(r.Spec.Config, &settings); err != nil || settings.Epsilon == nil {
		return r.Spec.Experiment
	}
	return fmt.Sprintf("%s, ε = %v", r.Spec.Experiment, *settings.Epsilon)
}

// Note says how a run goes: the first of an event's values, by name, "sliced W₂ 0.012";
// "" if it has none.
func Note(e run.Event) string {
	if len(e.Values) == 0 {
		return ""
	}
	first := slices.Min(slices.Collect(maps.Keys(e.Values)))
	return fmt.Sprintf("%s %.4g", first, e.Values[first])
}
