package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"molehill/pkg/lab"
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
		if state, _ := r.State(); state == run.Running {
			return fmt.Errorf("%w%s", err, cancelled(r))
		}
		return err
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

// cancelled stops the computation and says so.
func cancelled(r *run.Run) string {
	if err := r.Cancel(); err != nil {
		return fmt.Sprintf("; the run goes on: %v", err)
	}
	return ""
}

// summary is a run for scripts.
type summary struct {
	ID       string          `json:"id"`
	Dir      string          `json:"dir"`
	State    run.State       `json:"state"`
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
	if asJSON {
		return printJSON(w, s)
	}
	fmt.Fprintf(w, "%s  %s\n%s\n", s.ID, s.State, s.Dir)
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
			summaries := make([]summary, 0, len(entries))
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, entry := range entries {
				if entry.Err != nil {
					fmt.Fprintf(w, "%s\tunreadable\t%v\n", entry.ID, entry.Err)
					continue
				}
				s, err := summarize(entry.Run)
				if err != nil {
					fmt.Fprintf(w, "%s\tunreadable\t%v\n", entry.ID, err)
					continue
				}
				summaries = append(summaries, s)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ID, s.State, s.Spec.Preset, entry.Run.Created.Format(time.DateTime))
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), summaries)
			}
			if len(entries) == 0 {
				fmt.Fprintf(w, "no runs in %s yet; start one with `molehill run sketch-flow`\n", store.Dir)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// find opens a run by its ID, or the beginning of one.
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
		Short: "a run: its state, settings, metrics and privacy statement (RUN is an ID or the beginning of one)",
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
