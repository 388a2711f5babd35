package synth

import (
	"context"
	"errors"
	"fmt"

	"molehill/pkg/experiment"
)

// Seen are private records as their keeper sees them.
type Seen struct {
	Records int
	Called  string   // what so many are called
	Faults  []string // what does not agree with the schema
	Most    string   // where hardly anything does, "" for nowhere
}

// Preview tells the keeper, before anything is paid, what does not agree with the schema,
// and refuses to pay where that is most of the data: what came out would show the schema and
// little else. It also tells where there are too few records for a method, and of runs that
// have paid for the same. name is what the schema calls the data.
func (t *Terms) Preview(ctx context.Context, b experiment.Before, name string, found Seen, method any) error {
	if err := experiment.CheckDelta(t.Budget(), b.Spec.Research, found.Records); err != nil {
		return fmt.Errorf("%w; %w", err, errUnpaid)
	}
	if len(found.Faults) > 0 {
		fmt.Fprintln(b.To, "For the keeper only, before anything is paid: this does not agree with the schema.")
		for _, fault := range found.Faults {
			fmt.Fprintln(b.To, " ", fault)
		}
	}
	if found.Most != "" {
		return fmt.Errorf("%s; %w. Mend the schema %s, or the data: `molehill schema check` lists all that disagrees", found.Most, errUnpaid, t.Schema)
	}
	t.tellLoudness(b.To, method, found.Records, found.Called)
	return tellBefore(ctx, b, Own+name)
}

var errUnpaid = errors.New("nothing was computed, and nothing paid")
