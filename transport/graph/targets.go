package graph

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"molehill/transport"
	"molehill/transport/sliced"
)

// Targets returns where the optimal plan between x and y sends the projections
// of x, the mean where it splits a point: [k, n], for Matched. It sorts on the
// host, on all cores. Projections that coincide share a target.
func Targets(x, y transport.Points, u sliced.Directions) ([]float32, error) {
	for _, p := range []transport.Points{x, y} {
		if err := p.Check(); err != nil {
			return nil, err
		}
		if err := u.Check(p.Dim); err != nil {
			return nil, fmt.Errorf("graph: %w", err)
		}
	}
	n := x.Len()
	targets := make([]float32, u.Count*n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for l := range u.Count {
		group.Go(func() error {
			coupling, err := transport.Line{X: onLine(x, u.Row(l)), Y: onLine(y, u.Row(l))}.Solve()
			if err != nil {
				return err
			}
			for i, target := range coupling.Map() {
				targets[l*n+i] = float32(target)
			}
			return nil
		})
	}
	return targets, group.Wait()
}

func onLine(p transport.Points, direction []float32) []float64 {
	at := make([]float64, p.Len())
	for i := range at {
		for c, v := range p.Row(i) {
			at[i] += float64(v) * float64(direction[c])
		}
	}
	return at
}
