package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/run"
)

// Summary is what `molehill show --json` prints of a run, and `molehill runs --json` of each.
type Summary struct {
	ID      string     `json:"id"`
	Names   []string   `json:"names,omitempty"`
	Dir     string     `json:"dir"`
	State   run.State  `json:"state"`
	Queued  string     `json:"queued,omitempty"` // where it waits, or is computed unseen
	Spec    run.Spec   `json:"spec"`
	Metrics run.Values `json:"metrics,omitempty"`
	Note    string     `json:"note,omitempty"`
	// Measured is what it was measured by since, by the name of the artefact.
	Measured map[string]experiment.Measured `json:"measured,omitempty"`
	Unread   string                         `json:"unread,omitempty"` // why not all of it is here
	Privacy  json.RawMessage                `json:"privacy,omitempty"`
	Paid     string                         `json:"paid,omitempty"` // what the ledger says of its releases
	Computed []run.Provenance               `json:"provenance,omitempty"`
}

func summarize(r *run.Run) (Summary, error) {
	state, err := r.State()
	s := Summary{ID: r.ID, Dir: r.Dir, State: state, Spec: r.Spec}
	if err != nil {
		return s, err
	}
	if state == run.Finished {
		result, err := r.Result()
		if err != nil {
			return s, err
		}
		s.Metrics, s.Note = result.Metrics, result.Note
		all, err := experiment.AllMeasured(r)
		if err != nil { // one that is damaged hides no run
			s.Unread = "what it was measured by: " + err.Error()
		}
		if !s.Spec.Research { // what looked at records is for their keeper, and goes nowhere by itself
			maps.DeleteFunc(all, func(_ string, found experiment.Measured) bool { return found.NonPrivate })
		}
		s.Measured = all
	}
	if names, err := r.Store().Names(); err == nil {
		s.Names = names[r.ID]
	}
	if s.Privacy, err = r.Privacy(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Unread = strings.TrimPrefix(s.Unread+"; what it promises: "+err.Error(), "; ")
	}
	if s.Paid, err = r.Receipt(); err != nil {
		return s, err
	}
	s.Computed, err = r.Provenance()
	return s, err
}

// Describe prints a run.
func Describe(w io.Writer, r *run.Run, asJSON bool) error {
	s, err := summarize(r)
	if err != nil {
		return err
	}
	if queued, err := launch.Queued(context.Background(), r); err == nil {
		s.Queued = queued[r.ID]
	}
	if asJSON {
		return cli.JSON(w, s)
	}
	state := string(s.State)
	if s.Queued != "" {
		state = s.Queued
	}
	fmt.Fprintf(w, "%s  %s\n%s\n", s.ID, state, s.Dir)
	if len(s.Names) > 0 {
		fmt.Fprintln(w, "called", strings.Join(s.Names, ", "))
	}
	settings, err := tellSettings(s.Spec)
	if err != nil {
		return fmt.Errorf("the settings of %s: %w", s.ID, err)
	}
	fmt.Fprintln(w, settings)
	tellValues(w, s.Metrics)
	if s.Note != "" {
		fmt.Fprintln(w, " ", s.Note)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Measured)) {
		tellMeasured(w, s.Measured[name])
	}
	if s.Unread != "" {
		fmt.Fprintln(w, "  this cannot be read:", s.Unread)
	}
	if artefacts, err := r.Artefacts(); err == nil && len(artefacts) > 0 {
		fmt.Fprintln(w, "  artefacts/:", strings.Join(artefacts, ", "))
	}
	if s.Privacy != nil {
		statement, err := r.Statement()
		if err != nil {
			return err
		}
		fmt.Fprint(w, statement)
	}
	if s.Paid != "" {
		fmt.Fprintln(w, "paid:", s.Paid)
	}
	if s.State == run.Failed {
		fmt.Fprintln(w, whyOf(r.Failure()))
	}
	return nil
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
		Use:     "show RUN",
		Short:   "a run: its state, settings, metrics and privacy statement (RUN is an ID, the beginning of one, EXPERIMENT@DIGITS, or a name)",
		Example: "  molehill show digits\n  molehill show sketch-flow@1a2b3c",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			return Describe(cmd.OutOrStdout(), r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
