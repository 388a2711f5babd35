// Package backendtest runs a test on every backend of the machine.
package backendtest

import (
	"flag"
	"os"
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

// CompileFast has XLA compile without optimising, unless XLA_FLAGS is set: in half the
// time, for tests of many small programs, and not where benchmarks are asked for, which are
// to be of what users run. Call it in TestMain.
func CompileFast() {
	flag.Parse() // those of tests
	if _, set := os.LookupEnv("XLA_FLAGS"); !set && flag.Lookup("test.bench").Value.String() == "" {
		os.Setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
	}
}
