package own

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/dataset/table"
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
	look := s.lookAtTable
	if s.images {
		look = s.lookAtImages
	}
	n, faults, most, err := look(cmd.Context())
	if err != nil {
		return err
	}
	epsilon, err := privacy.ParseEpsilon(s.request.Settings["epsilon"])
	if err == nil {
		err = experiment.CheckDelta(privacy.Budget{Epsilon: float64(epsilon), Delta: s.delta}, spec.Research, n)
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was computed, and nothing paid", err)
	}
	if len(faults) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "For the keeper only, before anything is paid: this does not agree with the schema.")
		for _, fault := range faults {
			fmt.Fprintln(cmd.ErrOrStderr(), " ", fault)
		}
	}
	if most == "" {
		return s.tellBefore(cmd.Context(), cmd.ErrOrStderr(), store, spec)
	}
	return fmt.Errorf("%s; nothing was computed, and nothing paid. Mend the schema %s, or the data: `molehill schema check` lists all that disagrees", most, s.schema)
}

// paidOrFinished reports whether asking for a run again costs nothing.
func paidOrFinished(r *run.Run) bool {
	if state, err := r.State(); err == nil && state == run.Finished {
		return true
	}
	receipt, err := r.Receipt()
	return err == nil && receipt != ""
}

// lookAtTable returns what disagrees, and which column has hardly anything else.
func (s *synthesis) lookAtTable(ctx context.Context) (n int, faults []string, most string, err error) {
	schema, err := table.ReadSchema(s.schema)
	if err != nil {
		return 0, nil, "", err
	}
	private, disagreements, err := table.Read(ctx, s.data, schema)
	if err != nil {
		return 0, nil, "", err
	}
	n = private.Len()
	for _, d := range disagreements {
		faults = append(faults, d.String())
		if most == "" && 2*d.Count() > n {
			most = fmt.Sprintf("column %q: %d of %d values do not agree with the schema", d.Column, d.Count(), n)
		}
	}
	return n, faults, most, nil
}

// lookAtImages returns what disagrees, and whether most images are lost.
func (s *synthesis) lookAtImages(ctx context.Context) (n int, faults []string, most string, err error) {
	schema, err := pictures.ReadSchema(s.schema)
	if err != nil {
		return 0, nil, "", err
	}
	var found []pictures.Disagreement
	n, found, err = checkAll(ctx, s.data, schema)
	if err != nil {
		return 0, nil, "", err
	}
	for _, fault := range found {
		faults = append(faults, fault.String())
	}
	if changed := pictures.Changed(found); 2*changed > n {
		most = fmt.Sprintf("%d of %d images do not agree with the schema", changed, n)
	}
	return n, faults, most, nil
}

// checkAll reads all images, and returns how many there are and what disagrees.
func checkAll(ctx context.Context, data string, schema *pictures.Schema) (n int, found []pictures.Disagreement, err error) {
	source, err := pictures.Open(data, schema)
	if err != nil {
		return 0, nil, err
	}
	const atOnce = 64
	found, err = pictures.Each(ctx, source, schema.Images.Dim(), atOnce, func(int, []float32, []int) error { return nil })
	return source.Len(), found, errors.Join(err, source.Close())
}
