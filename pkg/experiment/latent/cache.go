package latent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"molehill/models/backend"
	"molehill/pkg/atomicfile"
)

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
	return atomicfile.Write(path, 0o600, atomicfile.Content(append(text, sum[:]...)))
}

// bytesOf appends values to text, little endian.
func bytesOf(text []byte, values []float32) []byte {
	for _, v := range values { // several times faster than binary.Append
		text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
	}
	return text
}
