package dataset_test

import (
	"context"
	"fmt"
	"math"

	"molehill/pkg/dataset"
)

// A data set of your own: a function that returns its rows, and a name.
func ExampleRegister() {
	circle := func(n int) *dataset.Dataset {
		d := &dataset.Dataset{Name: "circle", Origin: "computed", Height: 1, Width: 2, Channels: 1}
		for i := range n {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			d.X = append(d.X, float32(cos), float32(sin))
		}
		return d
	}
	dataset.Register("circle", "points on the unit circle", func(_ context.Context, o dataset.Options) (*dataset.Splits, error) {
		return &dataset.Splits{Train: circle(max(o.N, 4)), Test: circle(100)}, nil
	})

	splits, err := dataset.Load(context.Background(), "circle", dataset.Options{N: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(splits.Train.Len(), "points, the first at", splits.Train.Row(0))
	// Output: 8 points, the first at [1 0]
}
