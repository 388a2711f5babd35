package command

import (
	"strings"
	"testing"
)

func TestDataVerifyKnowsTheNetwork(t *testing.T) {
	out, err := molehill(t, "data", "verify", network, "--dir", t.TempDir())
	if err == nil || !strings.Contains(out, "molehill data fetch inception") || strings.Contains(out, "train-images") {
		t.Errorf("verifying an empty folder: %v\n%s", err, out)
	}
	if _, err := molehill(t, "data", "fetch", "inceptoin"); err == nil {
		t.Error("an unknown name was fetched")
	}
}
