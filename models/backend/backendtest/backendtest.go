// Package backendtest runs a test on every backend of the machine.
package backendtest

import (
	"testing"

	"molehill/models/backend"
)

// Each runs test once on every backend found, as a subtest named after the
// backend's kind ("go", "cpu", "cuda"), and logs which. A backend that is found
// and does not open fails its subtest.
func Each(t *testing.T, test func(t *testing.T, b *backend.Backend)) {
	t.Helper()
	for _, c := range backend.Found() {
		t.Run(c.Kind, func(t *testing.T) {
			b, err := c.Open()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("on %s: %s", b, b.Why)
			test(t, b)
		})
	}
}
