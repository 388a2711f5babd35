package run

import (
	"os"
	"time"
)

// IntervalVariable is the environment variable that says how often runs save
// checkpoints, such as "30s": seldom where disks are slow, always ("0s") to test.
const IntervalVariable = "MOLEHILL_CHECKPOINT_EVERY"

// Interval is how much time there should be between checkpoints: what the
// environment asks for, or else what is usual for the experiment.
func Interval(usual time.Duration) time.Duration {
	if asked, err := time.ParseDuration(os.Getenv(IntervalVariable)); err == nil && asked >= 0 {
		return asked
	}
	return usual
}
