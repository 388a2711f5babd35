package latent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"molehill/models/backend"
	"molehill/pkg/cache"
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

func readLatents(path string, count int) ([]float32, error) {
	text, err := cache.Read(path, 4*count)
	if err != nil {
		return nil, err
	}
	latents := make([]float32, count)
	_, err = binary.Decode(text, binary.LittleEndian, latents)
	return latents, err
}

// bytesOf appends values to text, little endian.
func bytesOf(text []byte, values []float32) []byte {
	for _, v := range values { // several times faster than binary.Append
		text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
	}
	return text
}
