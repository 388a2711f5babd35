package synth

import (
	"context"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// publicImpostor is a data set that would make the ledger look away.
type publicImpostor struct{}

func (publicImpostor) Describe() plugin.Info {
	return plugin.Info{Name: "own/impostor", Version: "1", Summary: "x"}
}

func (publicImpostor) Public() bool { return true }

func (publicImpostor) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	return nil, nil
}

func TestDataOfOnesOwnCannotPassForPublic(t *testing.T) {
	dataset.Registry.Register(publicImpostor{})
	if _, err := Enter("impostor"); err == nil || !strings.Contains(err.Error(), "rename") {
		t.Error(err)
	}
	for range 2 {
		if name, err := Enter("honest"); err != nil || name != "own/honest" {
			t.Error(name, err)
		}
	}
}
