package transport

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel calls work for 0 … n−1 on all cores. Each worker asks once for its
// state, so that buffers are made per core and not per call.
func Parallel[State any](n int, state func() State, work func(s State, i int)) {
	ParallelOn(runtime.GOMAXPROCS(0), n, state, work)
}

// InParallel calls work for 0 … n−1 on all cores.
func InParallel(n int, work func(i int)) { InParallelOn(runtime.GOMAXPROCS(0), n, work) }

// InParallelOn is InParallel on a number of workers; on one it is a loop.
func InParallelOn(workers, n int, work func(i int)) {
	ParallelOn(workers, n, func() struct{} { return struct{}{} }, func(_ struct{}, i int) { work(i) })
}

// ParallelOn is Parallel on a number of workers; on one it is a loop.
func ParallelOn[State any](workers, n int, state func() State, work func(s State, i int)) {
	if workers = min(workers, n); workers <= 1 {
		if n > 0 {
			s := state()
			for i := range n {
				work(s, i)
			}
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			s := state()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(s, i)
			}
		})
	}
	group.Wait()
}
