package run

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// Tests that need another process run this very binary again, as the worker
// that $MOLEHILL_TEST_WORKER names, in the directory $MOLEHILL_TEST_DIR.
var workers = map[string]func(dir string) error{
	"walk":     func(dir string) error { return walk(dir, walkSteps, 2*time.Millisecond) },
	"walkfast": func(dir string) error { return walk(dir, walkSteps, 0) },
	"wait":     waitForSignal,
	"full":     fillDisk,
	"readonly": writeReadOnly,
}

func TestMain(m *testing.M) {
	name := os.Getenv("MOLEHILL_TEST_WORKER")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := workers[name](os.Getenv("MOLEHILL_TEST_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const (
	walkSteps = 2000
	walkEvery = 10 // steps between checkpoints
)

// walk is a small private flow: 32 particles that drift to the origin and are
// shaken by noise that follows from the run's key and the step alone. Each step
// lasts pause.
func walk(dir string, steps int, pause time.Duration) error {
	r, err := Open(dir)
	if err != nil {
		return err
	}
	if err := r.Acquire(); err != nil {
		return err
	}
	if err := r.Fail(walkOn(r, steps, pause)); !errors.Is(err, ErrNotHeld) { // ErrNotHeld: finished
		return err
	}
	return nil
}

func walkOn(r *Run, steps int, pause time.Duration) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	particles := make([]float64, 32)
	for i := range particles {
		particles[i] = float64(i)
	}
	first, _, err := r.Restore(func(_ int, in io.Reader) error {
		return binary.Read(in, binary.LittleEndian, particles)
	})
	if err != nil {
		return err
	}
	for step := first + 1; step <= steps; step++ {
		time.Sleep(pause)
		seed := sha256.Sum256(binary.BigEndian.AppendUint64(key[:], uint64(step)))
		noise := rand.New(rand.NewChaCha8(seed))
		loss := 0.0
		for i := range particles {
			particles[i] = 0.99*particles[i] + 0.1*noise.NormFloat64()
			loss += particles[i] * particles[i]
		}
		if err := r.Emit(Event{Step: step, Total: steps, Values: Values{"loss": math.Sqrt(loss)}}); err != nil {
			return err
		}
		if step%walkEvery == 0 {
			if err := r.Checkpoint(step, func(out io.Writer) error {
				return binary.Write(out, binary.LittleEndian, particles)
			}); err != nil {
				return err
			}
		}
	}
	if err := r.WriteFile("particles.f64", func(out io.Writer) error {
		return binary.Write(out, binary.LittleEndian, particles)
	}); err != nil {
		return err
	}
	return r.Finish(Result{Metrics: Values{"first": particles[0]}})
}
