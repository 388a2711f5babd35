package privateflow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// gallery is some of a data set's images as a network takes them: in pieces, as a
// padded copy of all of them may take more memory than everything else a run has.
type gallery struct {
	images *dataset.Dataset
	rows   []int // nil for all
	side   int   // padded to side×side
}

func (g gallery) count() int {
	if g.rows == nil {
		return g.images.Len()
	}
	return len(g.rows)
}

// pieces returns the images in order, a few at a time, by the number of the first.
func (g gallery) pieces(yield func(from int, piece *dataset.Dataset) bool) {
	for from := 0; from < g.count(); from += imagesAtOnce {
		to := min(from+imagesAtOnce, g.count())
		var piece *dataset.Dataset
		if g.rows != nil {
			piece = g.images.Subset(g.rows[from:to])
		} else {
			all := *g.images
			all.X, all.Labels = all.X[from*all.Dim():to*all.Dim()], nil
			piece = &all
		}
		if !yield(from, padded(piece, g.side)) {
			return
		}
	}
}

// padded are images in a frame of side×side, themselves where they fill it.
func padded(images *dataset.Dataset, side int) *dataset.Dataset {
	if images.Height >= side && images.Width >= side {
		return images
	}
	return images.Pad(side, side)
}

// latents encodes the images, or finds their latents in the user's cache: a file
// that only the user can read, named by what determines it. A cache that cannot
// be read or written is only slow.
func (g gallery) latents(ctx context.Context, b *backend.Backend, model *network, say func(run.Event)) ([]float32, error) {
	path := cachePath(b, model, g)
	if latents, err := readLatents(path, g.count()*model.Shape.Code); err == nil {
		return latents, nil
	}
	latents := make([]float32, 0, g.count()*model.Shape.Code)
	// No step of the run: a run that is continued forgets events beyond its
	// checkpoint.
	tell := func(done int) {
		say(run.Event{Message: fmt.Sprintf("encoding images of %s on %s: %d of %d", g.images.Name, b.Name, done, g.count())})
	}
	for from, piece := range g.pieces {
		tell(from)
		part, err := model.Encode(ctx, b, piece.X)
		if err != nil {
			return nil, err
		}
		latents = append(latents, part...)
		// A heap may grow to twice of what it holds, which here are all images. This
		// takes hundredths of a second, a piece takes seconds.
		runtime.GC()
	}
	tell(g.count())
	if err := writeLatents(path, latents); err != nil && model.save != nil {
		say(run.Event{Message: "the latents are not cached: " + err.Error()})
	}
	return latents, nil
}

// imagesAtOnce are encoded between two looks at the progress: a multiple of the
// autoencoder's batch.
const imagesAtOnce = 2000

func cachePath(b *backend.Backend, model *network, images gallery) string {
	dir, err := os.UserCacheDir()
	if err != nil || model.save == nil {
		return "" // reading and writing "" fail, as they should
	}
	h := sha256.New()
	fmt.Fprintf(h, "latents 1 %s %x ", b.Name, images.fingerprint())
	if err := model.save(h); err != nil {
		return ""
	}
	return filepath.Join(dir, "molehill", "latents", hex.EncodeToString(h.Sum(nil)[:16]))
}

// fingerprint is the SHA-256 of all pixels, little endian.
func (g gallery) fingerprint() []byte {
	h := sha256.New()
	var text []byte
	for _, piece := range g.pieces {
		text = bytesOf(text[:0], piece.X)
		h.Write(text)
	}
	return h.Sum(nil)
}

// A cache file is the values, little endian, and the SHA-256 of them.
func readLatents(path string, count int) ([]float32, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) != 4*count+sha256.Size || sha256.Sum256(text[:4*count]) != [32]byte(text[4*count:]) {
		return nil, errors.New("damaged")
	}
	latents := make([]float32, count)
	_, err = binary.Decode(text, binary.LittleEndian, latents)
	return latents, err
}

func writeLatents(path string, latents []float32) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := binary.Append(nil, binary.LittleEndian, latents)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	f, err := os.CreateTemp(filepath.Dir(path), "new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, sum[:]...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if left := os.Remove(f.Name()); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
	}
	return err
}

// bytesOf appends values to text, little endian.
func bytesOf(text []byte, values []float32) []byte {
	for _, v := range values { // several times faster than binary.Append
		text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
	}
	return text
}
