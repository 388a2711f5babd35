package lab

import (
	"strings"
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

// Who interrupts a measurement is not told that it goes on.
func TestOnlyRunsGoOnWithoutTheirCell(t *testing.T) {
	for command, goesOn := range map[string]bool{"run": true, "sweep": true, "measure": false, "budget": false} {
		if text := stopped(command).Error(); strings.Contains(text, "goes on") != goesOn {
			t.Errorf("of an interrupted %s is said: %s", command, text)
		}
	}
}
