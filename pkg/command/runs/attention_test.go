package runs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"molehill/pkg/run"
)

// Of runs that are not finished it is said what the same command does about them: those that
// have diverged would diverge again.
func TestUnfinishedTellsWhatWouldFailAgain(t *testing.T) {
	runs := []*run.Run{{ID: "a-111111111111"}, {ID: "a-222222222222"}, {ID: "a-333333333333"}}
	stopped, diverged := errors.New("interrupted"), error(&run.FailedError{ID: "a", Why: "the loss is NaN", Recurs: true})
	for _, c := range []struct {
		broken []error
		want   string
	}{
		{[]error{nil, nil, nil}, ""},
		{[]error{nil, stopped, stopped}, "2 of 3 runs did not finish, for the reasons above: a@222222, a@333333; the same command makes them again"},
		{[]error{diverged, nil, stopped}, "a@111111, a@333333; the same command makes them again, of which 1 would fail again"},
		{[]error{diverged, diverged, nil}, "a@111111, a@222222; the same command would fail again"},
		{[]error{&run.FailedError{Why: "no room"}, nil, nil}, "a@111111; the same command makes them again"},
	} {
		switch err := unfinished(runs, c.broken); {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.broken, err)
		case c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%v: %v, want %q", c.broken, err, c.want)
		}
	}
}

// Runs are looked at seldom where a look takes long, but one that has waited minutes for a
// cluster is not followed by hours in which nobody is told of any.
func TestALongLookIsFollowedByAShortPause(t *testing.T) {
	for looked, want := range map[time.Duration]time.Duration{
		0:                     200 * time.Millisecond,
		10 * time.Millisecond: 500 * time.Millisecond,
		4 * time.Minute:       10 * time.Second,
	} {
		if got := pauseAfter(looked); got != want {
			t.Errorf("after a look of %v it pauses %v, want %v", looked, got, want)
		}
	}
}
