package own

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/privacy"
)

// preview tells the keeper, before anything is paid, what does not agree with the
// schema, and refuses to pay where that is most of the data: what came out would show
// the schema and little else. It also tells of runs that have paid for the same. A run
// that has paid already has been seen.
func (s *synthesis) preview(cmd *cobra.Command, store run.Store, spec run.Spec) error {
	id, err := spec.ID()
	if err != nil {
		return err
	}
	if r, err := store.Open(id); err == nil {
		s.again = paidOrFinished(r)
	} else if !errors.Is(err, run.ErrUnknown) {
		return err
	}
	if s.again {
		return nil
	}
	if err := experiment.CheckUnread(spec); err != nil {
		return err
	}
	found, err := s.kind.look(cmd.Context(), s.data)
	if err != nil {
		return err
	}
	epsilon, err := privacy.ParseEpsilon(s.request.Settings["epsilon"])
	if err == nil {
		err = experiment.CheckDelta(privacy.Budget{Epsilon: float64(epsilon), Delta: s.delta}, spec.Research, found.n)
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was computed, and nothing paid", err)
	}
	if len(found.faults) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "For the keeper only, before anything is paid: this does not agree with the schema.")
		for _, fault := range found.faults {
			fmt.Fprintln(cmd.ErrOrStderr(), " ", fault)
		}
	}
	if found.most == "" {
		return s.tellBefore(cmd.Context(), cmd.ErrOrStderr(), store, spec)
	}
	return fmt.Errorf("%s; nothing was computed, and nothing paid. Mend the schema %s, or the data: `molehill schema check` lists all that disagrees", found.most, s.schema)
}

// paidOrFinished reports whether asking for a run again costs nothing.
func paidOrFinished(r *run.Run) bool {
	receipt, err := r.Receipt()
	return r.Is(run.Finished) || err == nil && receipt != ""
}
