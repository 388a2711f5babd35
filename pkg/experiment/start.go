package experiment

import (
	"fmt"

	"molehill/pkg/dataset"
)

// CheckStart makes sure that what a network learns first, without noise, is nobody's:
// so many steps on a data set that is public by construction, or 0 on "".
func CheckStart(start string, steps int) error {
	if steps < 0 {
		return fmt.Errorf("start_steps is %d; it must be at least 0", steps)
	}
	if (start == "") != (steps == 0) {
		return fmt.Errorf("start is %q and start_steps %d; set both, or neither", start, steps)
	}
	if start == "" {
		return nil
	}
	source, err := dataset.Registry.Lookup(start)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if !source.Public() {
		return fmt.Errorf("start is %q, whose records are not public by construction; the network learns it without noise, take one such as glyphs", start)
	}
	if _, pinned := source.(dataset.Pinned); !pinned {
		return fmt.Errorf("start is %q, whose rows no version fixes; a training that goes on would begin elsewhere, take one such as glyphs", start)
	}
	return nil
}
