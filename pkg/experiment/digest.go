package experiment

import (
	"context"

	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// Digest tells the images of a data set from others of the same name, "" for one whose
// version fixes them. It refuses those that no promise could cover (CheckImages). It is
// hashed under the key of the store of runs: settings are not secret, and rows are.
func Digest(ctx context.Context, name string, o dataset.Options) (string, error) {
	rows, err := dataset.Digest(ctx, name, o, (*dataset.Splits).CheckImages)
	if err != nil || rows == "" {
		return "", err
	}
	store, err := run.DefaultStore()
	if err != nil {
		return "", err
	}
	return store.Keyed([]byte(rows))
}
