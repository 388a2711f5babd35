package matching_test

import (
	"os"
	"testing"

	"molehill/models/backend/backendtest"
)

func TestMain(m *testing.M) {
	backendtest.CompileFast()
	os.Exit(m.Run())
}
