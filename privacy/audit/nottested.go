package audit

import "fmt"

// elsewhere is what no audit of a release looks at.
const elsewhere = "timing, memory, and what else a machine gives away"

// NotTested is what an audit that plays some of so many steps of a training does not look
// at.
func NotTested(played, steps int) []string {
	not := []string{"the records themselves, and the run's own noise, whose key is erased", elsewhere}
	if played < steps {
		not = append(not, fmt.Sprintf("%d of its %d steps", steps-played, steps))
	}
	return not
}

// NotTestedOfRelease is what an audit of a whole release does not look at; encoding is what
// has made numbers of the records before.
func NotTestedOfRelease(encoding string) []string {
	return []string{
		"the records themselves: an audit plays with records of its own making",
		encoding,
		"the run's own noise, whose key is erased: the audit draws fresh noise by the same code",
		elsewhere,
	}
}
