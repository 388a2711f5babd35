package backend

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Batches has do look at n rows, those from first to last at a time, of which there are
// size, or fewer in the last batch. The first batch goes alone, as it compiles a graph and
// moves its weights; then two go at a time, so that what is serial in one passes beside the
// other. It ends with the first error, or that of ctx.
func Batches(ctx context.Context, n, size int, do func(first, last int) error) error {
	if err := ctx.Err(); err != nil || n == 0 {
		return err
	}
	if err := do(0, min(size, n)); err != nil {
		return err
	}
	var next atomic.Int64
	next.Store(int64(size))
	workers, ctx := errgroup.WithContext(ctx)
	for range 2 {
		workers.Go(func() error {
			for {
				first := int(next.Add(int64(size))) - size
				if first >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := do(first, min(first+size, n)); err != nil {
					return err
				}
			}
		})
	}
	return workers.Wait()
}
