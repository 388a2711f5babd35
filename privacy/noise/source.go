// Package noise makes the Gaussian noise that privacy rests on.
//
// A Source is a key. Everything drawn from it is a pure function of (key,
// label, step): counter-based, so that a run that was killed and resumed adds
// the noise it would have added anyway, and one vector is filled on all cores
// with the same result on any number of them.
//
// Two fills and one release:
//
//   - Source.Normal and Source.Normal64 fill a vector with N(0, σ²) as floating
//     point numbers. Floating-point noise is porous: its low bits can reveal
//     what it was added to (Mironov 2012). Use it for noise that stays inside.
//   - Source.Release adds noise to a statistic that leaves the system. Statistic
//     and noise are rounded to one public grid and added without rounding.
//
// The attacker of this package sees what is released and knows everything but
// the key and the records. Not covered: timing, an attacker who reads this
// machine's memory, and what Release says of itself.
package noise

import (
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Source is a keyed generator of noise. It is immutable and safe for
// concurrent use. The zero value is a source too, with a key that everybody
// knows: it calls itself research.
//
// A (label, step) pair names one draw. Two releases under the same pair get the
// same noise, and their difference gets none: give each release a pair of its
// own.
type Source struct {
	key    func() [32]byte // nil is all zeros; a closure, because fmt cannot print what is in one
	secret bool
}

// Secure returns a source whose key comes from the operating system.
func Secure() (Source, error) {
	var key [32]byte
	if _, err := crand.Read(key[:]); err != nil {
		return Source{}, fmt.Errorf("noise: the operating system gave no random key, so nothing can be released: %w", err)
	}
	return Keyed(key, false), nil
}

// Seeded returns a source for research and tests: whoever guesses the seed can
// subtract the noise.
func Seeded(seed uint64) Source {
	message := binary.LittleEndian.AppendUint64([]byte("molehill noise seed "), seed)
	return Keyed(sha256.Sum256(message), true)
}

// Keyed returns the source of a key that was kept, for a run that resumes.
// Research marks a key that is not a secret.
func Keyed(key [32]byte, research bool) Source {
	return Source{key: func() [32]byte { return key }, secret: !research}
}

// Key returns the key, to be kept with the run for as long as it may resume.
// Whoever has it can subtract all noise: keep it where only the run's owner
// reads, and destroy it when the run is done.
func (s Source) Key() [32]byte {
	if s.key == nil {
		return [32]byte{}
	}
	return s.key()
}

// Research tells whether the key is no secret, so that nothing drawn from it
// protects anybody.
func (s Source) Research() bool { return !s.secret }

// Describe names the construction, for statements and ledgers.
func (s Source) Describe() string {
	const construction = "ChaCha8, sub-keys by HMAC-SHA-256, ziggurat"
	if s.Research() {
		return "research (key not secret): " + construction
	}
	return "secure (256-bit secret key): " + construction
}

// Format prints Describe whatever the verb: a source never prints its key.
func (s Source) Format(state fmt.State, _ rune) { fmt.Fprint(state, s.Describe()) }

// Stream returns a generator that depends on (key, label, step) only, for
// draws other than noise: batches, initial values. Streams are independent of
// each other and of the noise of the same label and step. A stream is for one
// goroutine at a time.
func (s Source) Stream(label string, step int) *rand.Rand {
	return rand.New(s.chacha("stream", label, step, 0))
}

// chacha returns the generator of one chunk of one draw. Its key is
// HMAC-SHA-256(key, use ‖ length of label ‖ label ‖ step ‖ chunk); the uses are
// not prefixes of each other and the rest has fixed lengths, so no two draws
// share a message.
func (s Source) chacha(use, label string, step, chunk int) *rand.ChaCha8 {
	message := append(make([]byte, 0, 64+len(label)), use...)
	message = binary.LittleEndian.AppendUint64(message, uint64(len(label)))
	message = append(message, label...)
	message = binary.LittleEndian.AppendUint64(message, uint64(step))
	message = binary.LittleEndian.AppendUint64(message, uint64(chunk))
	key := s.Key()
	mac := hmac.New(sha256.New, key[:])
	mac.Write(message)
	return rand.NewChaCha8([32]byte(mac.Sum(nil)))
}
