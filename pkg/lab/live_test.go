package lab

import (
	"testing"
	"testing/synctest"
	"time"
)

// A picture that takes a second to read is drawn in a fifth of the time, one that takes
// none whenever there is something new.
func TestASlowPictureIsDrawnSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]int{0: 600, time.Second: 12} {
			var p pace
			drawn := 0
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
				p.do(func() {
					drawn++
					time.Sleep(took)
				})
			}
			if drawn != want {
				t.Errorf("what takes %v is drawn %d times a minute, want %d", took, drawn, want)
			}
		}
	})
}
