package backend

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// Every row is looked at once, in batches of which all but the last are full, and nothing
// else is under way while the first is.
func TestBatchesSeeEveryRowOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 64, 65} {
		var mu sync.Mutex
		seen := make([]int, n)
		begun := false
		err := Batches(t.Context(), n, 8, func(first, last int) error {
			mu.Lock()
			defer mu.Unlock()
			if first > 0 && !begun {
				t.Errorf("rows from %d before the first ones", first)
			}
			begun = true
			if last-first != 8 && last != n {
				t.Errorf("rows %d to %d of %d", first, last, n)
			}
			for i := first; i < last; i++ {
				seen[i]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, times := range seen {
			if times != 1 {
				t.Errorf("row %d of %d was looked at %d times", i, n, times)
			}
		}
	}
}

// Nothing is begun once one batch has failed, or ctx has ended.
func TestBatchesEnd(t *testing.T) {
	broken := errors.New("broken")
	var calls atomic.Int32
	if err := Batches(t.Context(), 1000, 1, func(first, last int) error {
		if calls.Add(1) == 3 {
			return broken
		}
		return nil
	}); !errors.Is(err, broken) || calls.Load() > 500 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls.Store(0)
	if err := Batches(ctx, 1000, 1, func(first, last int) error {
		cancel()
		calls.Add(1)
		return nil
	}); !errors.Is(err, context.Canceled) || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
