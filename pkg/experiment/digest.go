package experiment

import (
	"context"

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
