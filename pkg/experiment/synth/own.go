package synth

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// Own begins the names under which the ledger books what is spent on
// people's own data.
const Own = "own/"

// own makes the ledger book what is spent on people's own data.
type own struct{ name string }

func (o own) Describe() plugin.Info {
	return plugin.Info{Name: o.name, Version: "1", Summary: "data of your own"}
}
func (own) Public() bool { return false }
func (o own) Load(context.Context, dataset.Options) (*dataset.Splits, error) {
	return nil, fmt.Errorf("%s is data of your own; `molehill synth` reads it", o.name)
}

var registering sync.Mutex

// Enter makes data of people's own, which its schema calls so, known to the ledger,
// as private, and returns the name that it is booked under. Everything that looks at
// the data calls it first: the ledger lets pass what it does not know.
func Enter(data string) (string, error) {
	registering.Lock()
	defer registering.Unlock()
	name := Own + data
	source, err := dataset.Registry.Lookup(name)
	if _, ok := errors.AsType[*plugin.UnknownError](err); ok {
		dataset.Registry.Register(own{name})
		source, err = dataset.Registry.Lookup(name)
	}
	if err != nil {
		return "", err
	}
	if _, ok := source.(own); !ok { // another one might call itself public
		return "", fmt.Errorf("a plug-in has registered the data set %q, which is the name that the budget of your data is booked under; rename one of them", name)
	}
	return name, nil
}
