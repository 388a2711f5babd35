package run

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// mark is what is kept of a release: which it is, and of what, both hashed under the
// noise key.
type mark struct{ name, of [16]byte }

const markSize = 32

// Once returns how the run's releases are kept apart: once(name, digest) keeps that the
// release of a name was made of what has this digest, and refuses any other from then
// on, after a crash too. A run that goes on computes the steps since its last checkpoint
// again, and where a device does not repeat itself to the last bit the same noise would
// come upon other values, whose difference it then no longer hides.
//
// The file of it, 32 bytes a release, is keyed as Bind's is: it tells nobody anything,
// and Finish removes it with the key. Research runs protect nobody, and keep none.
func (r *Run) Once() (once func(name string, digest [32]byte) error, err error) {
	if r.Spec.Research {
		return func(string, [32]byte) error { return nil }, nil
	}
	key, err := r.Key()
	if err != nil {
		return nil, err
	}
	path := r.path(keyOnce)
	made := map[[16]byte][16]byte{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run: %w", err)
	}
	whole := len(text) / markSize * markSize // what a crash has cut short was not released
	for at := 0; at < whole; at += markSize {
		made[[16]byte(text[at:])] = [16]byte(text[at+16:])
	}
	if err := os.Truncate(path, int64(whole)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run: %w", err)
	}
	hash := func(what string, parts ...[]byte) (sum [16]byte) {
		mac := hmac.New(sha256.New, key[:])
		io.WriteString(mac, "molehill "+what+"\x00")
		for _, part := range parts {
			mac.Write(part)
		}
		copy(sum[:], mac.Sum(nil))
		return sum
	}
	return func(name string, digest [32]byte) error {
		m := mark{hash("release", []byte(name)), hash("release of", []byte(name), digest[:])}
		before, known := made[m.name]
		if known && before != m.of {
			return fmt.Errorf("run: %s came to other values than before it was interrupted, and the same noise on both would give away their difference: its device does not repeat itself; delete the run and pay for a new one", r.ID)
		}
		if known {
			return nil
		}
		if err := r.computing(); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.Write(append(m.name[:], m.of[:]...))
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return fmt.Errorf("run: %w; nothing was released", err)
		}
		made[m.name] = m.of
		return nil
	}, nil
}
