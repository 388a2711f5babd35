package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/lab"
	"molehill/pkg/launch"
	"molehill/pkg/run"
	"molehill/privacy"
)

// watch shows a run's progress until it ends. When the command is interrupted,
// it interrupts the run too: who wants to leave it running says --detach.
func watch(cmd *cobra.Command, r *run.Run) error {
	if err := lab.Follow(cmd.Context(), r); err != nil && cmd.Context().Err() == nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("%w%s", err, cancelled(r))
	}
	state, err := r.State()
	switch {
	case err != nil:
		return err
	case state == run.Failed:
		return r.Failure()
	case state == run.Interrupted:
		return fmt.Errorf("%s was interrupted; the same command continues it", r.ID)
	}
	return nil
}

// cancelled stops the computation, or takes it from the queue of a cluster.
func cancelled(r *run.Run) string {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second) // the command's has ended
	defer stop()
	if err := launch.Cancel(ctx, r); err != nil && !errors.Is(err, run.ErrIdle) {
		return fmt.Sprintf("; the run goes on: %v", err)
	}
	return ""
}

// summary is a run for scripts.
type summary struct {
	ID       string          `json:"id"`
	Names    []string        `json:"names,omitempty"`
	Dir      string          `json:"dir"`
	State    run.State       `json:"state"`
	Queued   string          `json:"queued,omitempty"` // where it waits, or is computed unseen
	Spec     run.Spec        `json:"spec"`
	Metrics  run.Values      `json:"metrics,omitempty"`
	Note     string          `json:"note,omitempty"`
	Privacy  json.RawMessage `json:"privacy,omitempty"`
	Computed any             `json:"provenance,omitempty"`
}

func summarize(r *run.Run) (summary, error) {
	state, err := r.State()
	s := summary{ID: r.ID, Dir: r.Dir, State: state, Spec: r.Spec}
	if err != nil {
		return s, err
	}
	if state == run.Finished {
		result, err := r.Result()
		if err != nil {
			return s, err
		}
		s.Metrics, s.Note = result.Metrics, result.Note
	}
	if names, err := (run.Store{Dir: filepath.Dir(r.Dir)}).Names(); err == nil {
		s.Names = names[r.ID]
	}
	if statement, err := r.Privacy(); err == nil {
		s.Privacy = statement
	}
	s.Computed, err = r.Provenance()
	return s, err
}

// describe prints a run.
func describe(w io.Writer, r *run.Run, asJSON bool) error {
	s, err := summarize(r)
	if err != nil {
		return err
	}
	if queued, err := launch.Queued(context.Background(), r); err == nil {
		s.Queued = queued[r.ID]
	}
	if asJSON {
		return printJSON(w, s)
	}
	state := string(s.State)
	if s.Queued != "" {
		state = s.Queued
	}
	fmt.Fprintf(w, "%s  %s\n%s\n", s.ID, state, s.Dir)
	if len(s.Names) > 0 {
		fmt.Fprintln(w, "called", strings.Join(s.Names, ", "))
	}
	var settings bytes.Buffer
	if err := json.Compact(&settings, s.Spec.Config); err != nil {
		return fmt.Errorf("the settings of %s: %w", s.ID, err)
	}
	fmt.Fprintf(w, "preset %s, seed %d, settings %s\n", s.Spec.Preset, s.Spec.Seed, &settings)
	names := make([]string, 0, len(s.Metrics))
	for name := range s.Metrics {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(w, "  %-30s %.5g\n", name, s.Metrics[name])
	}
	if s.Note != "" {
		fmt.Fprintln(w, " ", s.Note)
	}
	if artefacts, err := r.Artefacts(); err == nil && len(artefacts) > 0 {
		fmt.Fprintln(w, "  artefacts/:", strings.Join(artefacts, ", "))
	}
	if s.Privacy != nil {
		var statement privacy.Statement
		if err := json.Unmarshal(s.Privacy, &statement); err != nil {
			return fmt.Errorf("the privacy statement of %s: %w", s.ID, err)
		}
		fmt.Fprint(w, statement)
	}
	if s.State == run.Failed {
		fmt.Fprintf(w, "failed: %v\n", r.Failure())
	}
	return nil
}

func runs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "the runs there are, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := run.DefaultStore()
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				summaries := make([]summary, 0, len(entries))
				queued := queuedOf(entries)
				for _, entry := range entries {
					if entry.Err == nil {
						if s, err := summarize(entry.Run); err == nil {
							s.Queued = queued[s.ID]
							summaries = append(summaries, s)
						}
					}
				}
				return printJSON(cmd.OutOrStdout(), summaries)
			}
			if len(entries) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "no runs in %s yet; start one with `molehill run sketch-flow`\n", store.Dir)
				return nil
			}
			if readable := readableOf(entries); len(readable) > 0 {
				t, err := lab.ListTable(readable)
				if err != nil {
					return err
				}
				fmt.Fprint(cmd.OutOrStdout(), t)
			}
			for _, entry := range entries {
				if entry.Err != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s cannot be read: %v\n", entry.ID, entry.Err)
				}
			}
			return tellSweeps(cmd.OutOrStdout(), store)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func readableOf(entries []run.Entry) (runs []*run.Run) {
	for _, entry := range entries {
		if entry.Err == nil {
			runs = append(runs, entry.Run)
		}
	}
	return runs
}

// queuedOf says which runs a cluster has, if it answers.
func queuedOf(entries []run.Entry) map[string]string {
	queued, _ := launch.Queued(context.Background(), readableOf(entries)...)
	return queued
}

// tellSweeps lists the sweeps there are.
func tellSweeps(w io.Writer, store run.Store) error {
	sweeps, err := store.Sweeps()
	for _, sweep := range sweeps {
		finished := 0
		for _, id := range sweep.Runs {
			if r, err := store.Open(id); err == nil {
				if state, err := r.State(); err == nil && state == run.Finished {
					finished++
				}
			}
		}
		doing := ""
		if working([]*run.Sweep{sweep}) {
			doing = ", going on"
		}
		fmt.Fprintf(w, "sweep %s  %s: %d of %d runs finished%s\n", sweep.ID, sweep.Title, finished, len(sweep.Runs), doing)
	}
	return err
}

// find opens a run by its ID, a name, or the beginning of its ID.
func find(id string) (*run.Run, run.Store, error) {
	store, err := run.DefaultStore()
	if err != nil {
		return nil, store, err
	}
	r, err := store.Open(id)
	return r, store, err
}

func show() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "a run: its state, settings, metrics and privacy statement (RUN is an ID, the beginning of one, EXPERIMENT@DIGITS, or a name)",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			return describe(cmd.OutOrStdout(), r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
