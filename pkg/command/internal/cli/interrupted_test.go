package cli

import (
	"context"
	"errors"
	"testing"
)

// What is computed apart ends with the command's interruption, and with its own result
// otherwise.
func TestApart(t *testing.T) {
	mistake := errors.New("a mistake")
	for _, want := range []error{nil, mistake} {
		if err := Apart(t.Context(), "a test", func() error { return want }); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	forever := make(chan struct{})
	defer close(forever)
	err := Apart(ctx, "a test", func() error {
		interrupt()
		<-forever
		return nil
	})
	var said *Interrupted
	if !errors.Is(err, context.Canceled) || !errors.As(err, &said) {
		t.Errorf("an interruption is %v", err)
	}
}
