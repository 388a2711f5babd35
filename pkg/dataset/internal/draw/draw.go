// Package draw makes the random choices of data sets: which rows, which
// half, which rotation. They must never change, on no machine and with no
// release of Go, because partitions and generated rows are named by their
// seeds. So everything below rests on ChaCha8, whose output is specified, and
// on integers.
package draw

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream is a seeded sequence of random integers. It is a rand.Source and not
// safe for concurrent use. It is no source of noise for a private release.
type Stream struct{ rand.ChaCha8 }

// New returns the stream of a purpose and its numbers (a seed, a row). Streams
// of different purposes or numbers are unrelated.
func New(purpose string, numbers ...uint64) *Stream {
	s := new(Stream)
	s.Reset(purpose, numbers...)
	return s
}

// Reset makes s the stream that New would return, without allocating another.
func (s *Stream) Reset(purpose string, numbers ...uint64) {
	var space [64]byte
	key := append(space[:0], purpose...)
	for _, n := range numbers {
		key = append(key, 0)
		key = binary.BigEndian.AppendUint64(key, n)
	}
	s.Seed(sha256.Sum256(key))
}

// Below returns a uniform integer in [0, n), for n ≥ 1.
func (s *Stream) Below(n int) int {
	// Values past the last whole multiple of n would favour the small ones.
	bound := uint64(n)
	last := ^uint64(0) - ^uint64(0)%bound
	for {
		if v := s.Uint64(); v < last {
			return int(v % bound)
		}
	}
}

// Between returns a uniform integer in [low, high].
func (s *Stream) Between(low, high int) int { return low + s.Below(high-low+1) }

// Permutation returns the integers of [0, n) in random order (Fisher–Yates).
func (s *Stream) Permutation(n int) []int {
	order := make([]int, max(n, 0))
	for i := range order {
		j := s.Below(i + 1)
		order[i], order[j] = order[j], i
	}
	return order
}
