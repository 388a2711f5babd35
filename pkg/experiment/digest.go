package experiment

import (
	"context"
	"fmt"

	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// Digest tells the rows of a data set from others of the same name, "" for one whose
// version fixes them, and refuses those that check does, if it is not nil. It is hashed
// under the key of the store of runs: settings are not secret, and rows are.
func Digest(ctx context.Context, name string, o dataset.Options, check func(*dataset.Splits) error) (string, error) {
	rows, err := dataset.Digest(ctx, name, o, check)
	if err != nil || rows == "" {
		return "", err
	}
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	return store.Keyed([]byte(rows))
}

// Unchanged returns an error if rows of a data set, and what else a digest is of, are no
// longer those that a run was asked for with. Runs of earlier versions kept no digest.
func Unchanged(name, then, now string) error {
	if then == "" || then == now {
		return nil
	}
	return Changed(name)
}

// Changed is the error of Unchanged.
func Changed(name string) error {
	return fmt.Errorf("the rows of %s, or the weights that they are seen through, have changed since this run was asked for, or it has come to another folder of runs, without the .inputs.key of the one that it was asked for in: restore them and start it again, or ask for it anew, which makes another run, and pays for it", name)
}
