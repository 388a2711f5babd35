package experiment

import (
	"context"
	"sync"
)

// keeper holds what runs of one process leave for those after them.
type keeper struct {
	sync.Mutex
	last map[string]any // by kind
}

type keeping struct{}

// Keeping returns a context in which Last keeps what it makes, for a process that
// computes several runs, one after the other.
func Keeping(ctx context.Context) context.Context {
	return context.WithValue(ctx, keeping{}, &keeper{last: map[string]any{}})
}

// Last returns the last value of its kind that a run of this process made, if it fits,
// and else makes one and keeps that in its place: no more than one of a kind, so that
// memory is bounded. done is to be called when the run is through with the value; it
// closes a value that is not kept. In a context without Keeping each value is made anew.
//
// No two runs use a value at a time. What fits has to do for this run as if it were new.
func Last[T any](ctx context.Context, kind string, fits func(T) bool, make func() (T, error), shut func(T)) (value T, done func(), err error) {
	k, kept := ctx.Value(keeping{}).(*keeper)
	if !kept {
		value, err = make()
		return value, func() { shut(value) }, err
	}
	k.Lock()
	defer k.Unlock()
	last, made := k.last[kind].(T)
	if made && fits(last) {
		return last, func() {}, nil
	}
	if made {
		delete(k.last, kind)
		shut(last)
	}
	if value, err = make(); err == nil {
		k.last[kind] = value
	}
	return value, func() {}, err
}
