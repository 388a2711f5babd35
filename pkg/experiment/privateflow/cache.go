package privateflow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"molehill/models/backend"
	"molehill/pkg/dataset"
	"molehill/pkg/run"
)

// latentsOf encodes images, or finds their latents in the user's cache: a file
// that only the user can read, named by what determines it. A cache that cannot
// be read or written is only slow.
func latentsOf(ctx context.Context, b *backend.Backend, model *network, images *dataset.Dataset, say func(run.Event)) ([]float32, error) {
	path := cachePath(b, model, images)
	if latents, err := readLatents(path, images.Len()*model.Shape.Code); err == nil {
		return latents, nil
	}
	var latents []float32
	// No step of the run: a run that is continued forgets events beyond its
	// checkpoint.
	tell := func(done int) {
		say(run.Event{Message: fmt.Sprintf("encoding images of %s on %s: %d of %d", images.Name, b.Name, done, images.Len())})
	}
	for from := 0; from < images.Len(); from += imagesAtOnce {
		tell(from)
		to := min(from+imagesAtOnce, images.Len())
		part, err := model.Encode(ctx, b, images.X[from*images.Dim():to*images.Dim()])
		if err != nil {
			return nil, err
		}
		latents = append(latents, part...)
	}
	tell(images.Len())
	if err := writeLatents(path, latents); err != nil && model.save != nil {
		say(run.Event{Message: "the latents are not cached: " + err.Error()})
	}
	return latents, nil
}

// imagesAtOnce are encoded between two looks at the progress: a multiple of the
// autoencoder's batch.
const imagesAtOnce = 2000

func cachePath(b *backend.Backend, model *network, images *dataset.Dataset) string {
	dir, err := os.UserCacheDir()
	if err != nil || model.save == nil {
		return "" // reading and writing "" fail, as they should
	}
	h := sha256.New()
	fmt.Fprintf(h, "latents 1 %s %x ", b.Name, fingerprint(images.X))
	if err := model.save(h); err != nil {
		return ""
	}
	return filepath.Join(dir, "molehill", "latents", hex.EncodeToString(h.Sum(nil)[:16]))
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
