package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"molehill/pkg/dataset/internal/draw"
)

// Partition is a split of n records into a public half, free to use, and a
// private half. It is drawn once, from a seed, and named with that and its digest
// (String) by whatever was made from it: a model trained on the public half of one
// partition has seen private records of another.
type Partition struct {
	Seed    uint64 `json:"seed"`
	Public  []int  `json:"public"`  // record indices in rising order
	Private []int  `json:"private"` // record indices in rising order, as many
	Digest  string `json:"digest"`  // SHA-256 of both lists in hexadecimal digits
}

// PublicPrivate draws the partition of n records. If n is odd, one record is
// in neither half. The same n and seed give the same partition for ever.
func PublicPrivate(n int, seed uint64) Partition {
	order := draw.New("public and private", seed).Permutation(n)
	half := len(order) / 2
	p := Partition{Seed: seed, Public: sorted(order[:half]), Private: sorted(order[half : 2*half])}
	p.Digest = p.digest()
	return p
}

// String names the partition: by its seed and its digest.
func (p Partition) String() string { return fmt.Sprintf("seed %d, SHA-256 %s", p.Seed, p.Digest) }

// digest hashes both lists, each as its length and its indices, as big-endian
// integers of 8 bytes.
func (p Partition) digest() string {
	var text []byte
	for _, half := range [][]int{p.Public, p.Private} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(half)))
		for _, i := range half {
			text = binary.BigEndian.AppendUint64(text, uint64(i))
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sorted sorts indices in a copy.
func sorted(indices []int) []int {
	s := slices.Clone(indices)
	slices.Sort(s)
	return s
}
