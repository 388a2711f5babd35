package cli

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

type said []string

func (s *said) Set(step int, _ string) { *s = append(*s, fmt.Sprint(step)) }
func (s *said) Done()                  { *s = append(*s, "done") }

// Of work that is soon done nothing is told; of other work how far it is from then on,
// also where no step ends for long.
func TestWhatTakesLongIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told said
		open := func() bar { return &told }
		soon := progress(open)
		for range 10 {
			time.Sleep(quiet / 20)
			soon.Step()
		}
		soon.Done()
		time.Sleep(2 * quiet)
		if told != nil {
			t.Errorf("of what was soon done is told %q", told)
		}
		long := progress(open)
		long.Step()
		time.Sleep(3 * quiet / 2)
		synctest.Wait()
		if !slices.Equal(told, said{"1"}) {
			t.Errorf("while no step ended is told %q", told)
		}
		long.Step()
		long.Done()
		if !slices.Equal(told, said{"1", "2", "done"}) {
			t.Errorf("found %q", told)
		}
	})
}
