package experiment

import (
	"context"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// Load loads a data set as all runs see it, split by SplitSeed. say is told of work that
// takes long.
func Load(ctx context.Context, name string, o dataset.Options, say func(run.Event)) (*dataset.Splits, error) {
	o.Seed = SplitSeed
	o.Progress = func(what string, done, total int) {
		say(run.Event{Message: fmt.Sprintf("%s: %d of %d", what, done, total)})
	}
	return dataset.Load(ctx, name, o)
}
