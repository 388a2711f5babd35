package run

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"molehill/pkg/atomicfile"
)

// Key returns the 32 bytes that all noise of the run's releases is to be
// derived from, by step. It takes part in every release and in no file that is
// kept.
//
// A private run draws its key from the operating system when it first asks, and
// keeps it in a file that only its owner can read for as long as the run is
// unfinished. It has to: a run that is killed and goes on from a checkpoint
// computes again the steps since then, whose results may have been seen in
// events or samples. With the same key these are the same releases, bit by bit,
// and nothing new is learned; with a new one they are further releases of the
// same data, which spend budget that the accountant never saw, and averaging
// the two lessens the noise. Finish erases the key: whoever had it and the
// results could subtract the noise. Until then whoever can read the folder as
// its owner can do that, as they can read the data.
//
// A key that has gone missing is therefore an error, never a reason to draw
// another; key.check, a fingerprint that tells nothing about the key, tells that
// there was one, and whether it is still the same.
//
// A research run derives its key from Spec.Seed by SHA-256, so that anyone can
// repeat it, and therefore protects nobody. Equal seeds give equal noise, in
// different experiments too: comparisons under common random numbers.
func (r *Run) Key() ([32]byte, error) {
	if r.Spec.Research {
		return researchKey(r.Spec.Seed), nil
	}
	if err := r.computing(); err != nil {
		return [32]byte{}, err
	}
	return secureKey(r.Dir)
}

// KeyID identifies the run's key without telling it, 64 hexadecimal digits: with
// the same one the run's releases are the same, bit by bit.
func (r *Run) KeyID() (string, error) {
	key, err := r.Key()
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(fingerprint(key))), nil
}

// Bind ties the run's key to what its noise is for: records, plan, directions.
// The first call keeps a keyed hash of it; after a crash, Bind refuses anything
// else, because other values under the same noise would give away their
// difference. Call it before the first release.
//
// The hash is HMAC-SHA-256 under the noise key, which Finish erases, so that it
// tells nobody anything about the records.
func (r *Run) Bind(to []byte) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("molehill bound to\x00"))
	mac.Write(to)
	sum := mac.Sum(nil)
	path := r.path(keyBound)
	err = writeNew(path, 0o600, atomicfile.Content(sum))
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if !hmac.Equal(before, sum) {
		return fmt.Errorf("run: the records, the plan or the program that %s began with are not those it would go on with; restore them, or delete the run and pay for a new one", r.ID)
	}
	return nil
}

func researchKey(seed uint64) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte("molehill research key\x00"), seed))
}

// secureKey returns the key in dir, drawing it if there never was one. The
// caller holds the run's lock.
func secureKey(dir string) (key [32]byte, err error) {
	path, check := filepath.Join(dir, keyFile), filepath.Join(dir, keyCheck)
	expected, err := os.ReadFile(check)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, fmt.Errorf("run: %w", err)
	}
	if expected == nil {
		rand.Read(key[:]) // never fails
		err := writeNew(path, 0o600, atomicfile.Content(key[:]))
		if err != nil && !errors.Is(err, fs.ErrExist) { // drawn before, killed before the fingerprint
			return key, err
		}
	}
	text, err := os.ReadFile(path)
	const lost = "going on with another would spend the budget twice: restore it, or delete the run and plan for a second one"
	switch {
	case err != nil:
		return key, fmt.Errorf("run: the noise key that this run has drawn cannot be read: %w; %s", err, lost)
	case len(text) != len(key):
		return key, fmt.Errorf("run: noise key %s has %d bytes, expected %d; %s", path, len(text), len(key), lost)
	}
	copy(key[:], text)
	if key == [32]byte{} { // left by a process that was killed in eraseKey
		return key, fmt.Errorf("run: noise key %s has been erased; %s", path, lost)
	}
	found := fingerprint(key)
	if expected == nil {
		err := writeAtomic(check, 0o644, atomicfile.Content(found))
		return key, err
	}
	if !bytes.Equal(found, expected) {
		return [32]byte{}, fmt.Errorf("run: noise key %s is not the one that this run has drawn; %s", path, lost)
	}
	return key, nil
}

// fingerprint identifies a key without telling it: the key has 256 random bits,
// too many to try.
func fingerprint(key [32]byte) []byte {
	sum := sha256.Sum256(append([]byte("molehill key fingerprint\x00"), key[:]...))
	return []byte(hex.EncodeToString(sum[:]) + "\n")
}

// eraseKey overwrites and removes the key of a run that needs it no more, and then the
// marks made under it: without them nobody may release with it. On
// disks that write elsewhere than they read (flash, copy-on-write file systems)
// overwriting may leave the old block for a while; an encrypted disk helps.
func eraseKey(dir string) error {
	path, marks := filepath.Join(dir, keyFile), filepath.Join(dir, keyOnce)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return remove(marks)
	}
	if err == nil {
		_, err = file.Write(make([]byte, 32))
		err = errors.Join(err, file.Sync(), file.Close(), os.Remove(path), atomicfile.SyncFolder(dir))
	}
	if err != nil {
		return fmt.Errorf("run: erasing the noise key %s: %w; erase it by hand: with it the noise can be subtracted", path, err)
	}
	return remove(marks)
}
