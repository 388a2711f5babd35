package dataset

import (
	"slices"
	"testing"
)

// The digests were taken when the partition was first drawn. If they change,
// every stored model's public half becomes somebody's private one: restore
// the old draw instead of the digests.
func TestPartitionsNeverChange(t *testing.T) {
	for _, c := range []struct {
		n      int
		seed   uint64
		digest string
	}{
		{60_000, 0, "cda38d4bc2c68b5845f6823dbf2e418388a3016dfc32b41c97c957736bdaa1f6"},
		{60_000, 1, "c277cde0c9cfbeb96c4e960ccb085ab0017f98b39ab14fe2f7051322a32dd4b3"},
		{7, 42, "f105ed7407a66ce1dee5e7137751f3268661f464e27ec71644275af0d3ef34ba"},
	} {
		if got := PublicPrivate(c.n, c.seed).Digest; got != c.digest {
			t.Errorf("PublicPrivate(%d, %d) has digest %s, want %s", c.n, c.seed, got, c.digest)
		}
	}
}

func TestHalvesAreEqualSortedAndDisjoint(t *testing.T) {
	for _, n := range []int{-3, 0, 1, 2, 7, 1000} {
		p := PublicPrivate(n, 5)
		half := max(n, 0) / 2
		if len(p.Public) != half || len(p.Private) != half || !slices.IsSorted(p.Public) || !slices.IsSorted(p.Private) {
			t.Fatalf("n = %d: %v and %v", n, p.Public, p.Private)
		}
		both := sorted(append(slices.Clone(p.Public), p.Private...))
		if len(slices.Compact(both)) != 2*half || half > 0 && (both[0] < 0 || both[2*half-1] >= n) {
			t.Errorf("n = %d: indices repeat or lie outside", n)
		}
	}
}
