package lab

// Ask is start, for tests.
func Ask(experiment string) error {
	_, err := start(experiment, nil)
	return err
}

// Mistake is mistake, for tests.
func Mistake(said string) string { return mistake(said) }
