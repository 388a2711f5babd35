package store

import (
	"context"
	"time"
)

// quiet is how long an operation waits for others without a word.
const quiet = 2 * time.Second

type teller struct{}

// Waiting returns a context in which an operation that has not begun within two seconds,
// as others keep the ledger locked, says so, with Where. Say may be called in a goroutine
// of its own, and more than once.
func Waiting(ctx context.Context, say func(where string)) context.Context {
	return context.WithValue(ctx, teller{}, say)
}

// Waits begins what may wait for others; stop ends it, and may be called again.
func (s Store) Waits(ctx context.Context) (stop func() bool) {
	say, ok := ctx.Value(teller{}).(func(string))
	if !ok {
		return func() bool { return false }
	}
	return time.AfterFunc(quiet, func() { say(s.Where) }).Stop
}
