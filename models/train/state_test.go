package train

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
	"molehill/models/layer"
)

// all are optimisers that remember different things.
var all = []Optimizer{
	{},
	{WeightDecay: 0.1, Average: 0.9},
	{Name: SGD},
	{Name: SGD, Momentum: 0.9, WeightDecay: 0.1, Average: 0.8},
}

// few are all of them, but for XLA, which compiles each for long.
func few(b *backend.Backend) []Optimizer {
	if b.Name == backend.Go {
		return all
	}
	return all[1:2]
}

// A training that is saved, and restored into another trainer, fresh or gone elsewhere,
// ends with the very bytes of one that was not interrupted.
func TestContinues(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		for _, o := range few(b) {
			t.Run(o.Complete().Name, func(t *testing.T) { continues(t, b, o) })
		}
	})
}

func continues(t *testing.T, b *backend.Backend, o Optimizer) {
	const half, total = 3, 7
	whole := made(t, b, normed, layer.Init(normed, 1), o)
	p := steps(t, whole)
	states := make([][]byte, total+1) // after so many steps
	for k := range states {
		states[k] = state(t, whole, k)
		if k < total {
			step(t, p, 0.03, batch(k))
		}
	}
	if bytes.Equal(states[half][1000:], states[total][1000:]) {
		t.Error("nothing was learned")
	}
	ends := func(name string, trainer *Trainer, p *Program, from int) {
		t.Helper()
		var saved int
		check := func() error {
			if saved != from {
				return fmt.Errorf("the metadata is %d; expected %d", saved, from)
			}
			return nil
		}
		if err := trainer.Restore(bytes.NewReader(states[from]), &saved, check); err != nil {
			t.Fatal(err)
		}
		for k := from; k < total; k++ {
			step(t, p, 0.03, batch(k))
		}
		if !bytes.Equal(state(t, trainer, total), states[total]) {
			t.Errorf("a %s trainer went another way from step %d", name, from)
		}
	}
	ends("used", whole, p, half)
	ends("used", whole, p, 0)
	fresh := made(t, b, normed, layer.Init(normed, 2), o)
	ends("fresh", fresh, steps(t, fresh), half)

	// A trainer that is reset goes the way of a new one.
	if err := whole.Reset(layer.Init(normed, 1)); err != nil {
		t.Fatal(err)
	}
	for k := range total {
		step(t, p, 0.03, batch(k))
	}
	if !bytes.Equal(state(t, whole, total), states[total]) {
		t.Error("a trainer that was reset went another way")
	}
	if err := whole.Reset(layer.Init(plain, 1)); err == nil {
		t.Error("a trainer was reset to the parameters of another network")
	}
}

func state(t *testing.T, trainer *Trainer, metadata int) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := trainer.Save(&file, metadata); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What its metadata speak against is not restored, not even in part: no parameter moves,
// nor does what the optimiser remembers, and a way forward can still go back.
func TestRefusedStatesMoveNothing(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	o := Optimizer{Name: SGD, Momentum: 0.9, Average: 0.8}
	other := made(t, b, plain, layer.Init(plain, 2), o)
	step(t, steps(t, other), 0.1, batch(1))
	foreign := state(t, other, 5)
	trainer := made(t, b, plain, layer.Init(plain, 1), o)
	p := passage(t, trainer)
	if err := p.Step(0.1, bySquares(t, p, batch(0))); err != nil {
		t.Fatal(err)
	}
	before := state(t, trainer, 0)
	byY := bySquares(t, p, batch(1))
	wrong := errors.New("another run's")
	var saved int
	if err := trainer.Restore(bytes.NewReader(foreign), &saved, func() error { return wrong }); !errors.Is(err, wrong) || saved != 5 {
		t.Errorf("metadata %d: %v, want 5 and %v", saved, err, wrong)
	}
	if err := trainer.Restore(bytes.NewReader(foreign[:len(foreign)/2]), &saved, func() error { return nil }); err == nil {
		t.Error("half a state was restored")
	}
	if !bytes.Equal(state(t, trainer, 0), before) {
		t.Error("a state that was refused has moved something")
	}
	if err := p.Step(0.1, byY); err != nil {
		t.Error(err)
	}
}

func TestForeignStates(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	saved := state(t, made(t, b, plain, layer.Init(plain, 1), Optimizer{}), 0)
	agree := func() error { return nil }
	for name, other := range map[string]*Trainer{
		"another network":          made(t, b, normed, layer.Init(normed, 1), Optimizer{}),
		"one with momentum":        made(t, b, plain, layer.Init(plain, 1), Optimizer{Name: SGD, Momentum: 0.5}),
		"one that keeps averages":  made(t, b, plain, layer.Init(plain, 1), Optimizer{Average: 0.5}),
		"a network of other sizes": made(t, b, layer.Dense{Name: "one", In: 2, Out: 4}, layer.Init(layer.Dense{Name: "one", In: 2, Out: 4}, 1), Optimizer{}),
	} {
		before := values(t, other.Params)
		if err := other.Restore(bytes.NewReader(saved), new(any), agree); err == nil {
			t.Errorf("a state was restored into %s", name)
		}
		expectNear(t, name, values(t, other.Params), wide(before), 0)
	}
}
