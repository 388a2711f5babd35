package cli

import "context"

// Interrupted is what a command returns that an interruption has ended, where it is not
// the same command that goes on.
type Interrupted struct{ Next string } // what to do

func (i *Interrupted) Error() string { return "interrupted; " + i.Next }

// Unwrap makes it an interruption to those who ask errors.Is.
func (*Interrupted) Unwrap() error { return context.Canceled }

// Apart computes what knows of no interruption and leaves nothing behind: one ends the
// command all the same. That it goes on is told under a title if it takes long.
func Apart(ctx context.Context, title string, compute func() error) error {
	going := NewProgress(title, 0)
	defer going.Done()
	done := make(chan error, 1)
	go func() { done <- compute() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &Interrupted{"nothing was found, and nothing is left of it"}
	}
}
