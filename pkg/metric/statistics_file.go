package metric

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"molehill/pkg/atomicfile"
	"molehill/pkg/npy"
)

const (
	statisticsFormat = 1
	largestDim       = 1 << 13
	largestFile      = 9 * largestDim * largestDim // bytes
)

type statisticsMeta struct {
	Format int `json:"format"`
	Count  int `json:"count"`
	Dim    int `json:"dim"`
}

// Save writes the statistics as a NumPy .npz archive of arrays mu and sigma, as
// other programs for the distance keep theirs, and the count.
func (s *Statistics) Save(w io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	dim := s.Dim()
	sigma := make([]float64, 0, dim*dim)
	for i := range dim {
		for j := range dim {
			sigma = append(sigma, s.Covariance.At(i, j))
		}
	}
	err := npy.WriteArchive(w, statisticsMeta{statisticsFormat, s.Count, dim}, []npy.Array[float64]{
		{Name: "mu", Shape: []int{dim}, Value: s.Mean},
		{Name: "sigma", Shape: []int{dim, dim}, Value: sigma},
	})
	if err != nil {
		return fmt.Errorf("metric: saving statistics: %w", err)
	}
	return nil
}

// LoadStatistics reads what Save has written.
func LoadStatistics(r io.Reader) (*Statistics, error) {
	var meta statisticsMeta
	arrays, err := npy.ReadArchive[float64](r, largestFile, &meta)
	if err != nil {
		return nil, fmt.Errorf("metric: loading statistics: %w", err)
	}
	if meta.Format != statisticsFormat || meta.Dim < 1 || meta.Dim > largestDim || meta.Count < 2 {
		return nil, fmt.Errorf("metric: expected statistics of format %d, found format %d of %d points of dimension %d", statisticsFormat, meta.Format, meta.Count, meta.Dim)
	}
	mu, err := arrays.Take("mu", meta.Dim)
	if err != nil {
		return nil, fmt.Errorf("metric: loading statistics: %w", err)
	}
	sigma, err := arrays.Take("sigma", meta.Dim, meta.Dim)
	if err != nil {
		return nil, fmt.Errorf("metric: loading statistics: %w", err)
	}
	for i := range meta.Dim {
		for j := range i {
			a, b := sigma[i*meta.Dim+j], sigma[j*meta.Dim+i]
			if !(math.Abs(a-b) <= 1e-9*(math.Abs(a)+math.Abs(b))) {
				return nil, fmt.Errorf("metric: the covariance is not symmetric: %v and %v at %d, %d", a, b, i, j)
			}
		}
	}
	s := &Statistics{Count: meta.Count, Mean: mu, Covariance: mat.NewSymDense(meta.Dim, sigma)}
	return s, s.check()
}

// CachedStatistics returns the statistics that are kept in the user's cache
// under key, or computes and keeps them. key must hold all that determines them:
// the digests of the images, of the network, and what else makes a difference.
// A cache that cannot be read or written is only slow. Files are readable by
// the user alone; still, statistics of private records do not belong there.
func CachedStatistics(key string, compute func() (*Statistics, error)) (*Statistics, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return compute()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "statistics %d %s", statisticsFormat, key))
	path := filepath.Join(dir, "molehill", "statistics", hex.EncodeToString(sum[:16])+".npz")
	if f, err := os.Open(path); err == nil {
		s, err := LoadStatistics(f)
		f.Close()
		if err == nil {
			return s, nil
		}
	}
	s, err := compute()
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	_ = s.keep(path) // next time it is computed again
	return s, nil
}

// keep writes the statistics to path, whole or not at all.
func (s *Statistics) keep(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o600, s.Save)
}
