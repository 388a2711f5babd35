package backend_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

func TestWhatIsPutIsFetched(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		want := []float32{1, -2.5, 0x1p-126, 3e38, 0, 7}
		put, err := backend.Put(b, want, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 6)
		if err := backend.Fetch(b, put, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
		if put.Shape().Rank() != 2 || put.Shape().Dim(0) != 2 || put.Shape().Dim(1) != 3 {
			t.Errorf("shape %s", put.Shape())
		}
		labels, err := backend.Put(b, []int32{4, -1}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := labels.Value().([]int32); !slices.Equal(got, []int32{4, -1}) {
			t.Errorf("labels %v", got)
		}

		for name, attempt := range map[string]func() error{
			"5 numbers":                            func() error { _, err := backend.Put(b, want[:5], 2, 3); return err },
			"into 4 numbers":                       func() error { return backend.Fetch(b, put, got[:4]) },
			"(Int32)[2] into 2 numbers of 32 bits": func() error { return backend.Fetch(b, labels, got[:2]) },
		} {
			if err := attempt(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, which does not say %q", err, name)
			}
		}
	})
}

// What is fetched lies on the device or on the host.
func TestFetchTakesHostTensors(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		got := make([]float32, 3)
		if err := backend.Fetch(b, tensors.FromValue([]float32{1, 2, 3}), got); err != nil || !slices.Equal(got, []float32{1, 2, 3}) {
			t.Errorf("%v, %v", got, err)
		}
	})
}
