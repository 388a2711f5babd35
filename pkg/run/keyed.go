package run

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"molehill/pkg/atomicfile"
)

// Keyed returns a hash of data that tells it from other data, under a key of this
// store that only its owner can read. Settings of runs, and so their names, may be
// told to anybody. A plain hash of private rows in them would answer, with certainty,
// whoever knows all records but one and tries what the last may be.
func (s Store) Keyed(data []byte) (string, error) {
	key, err := ownKey(s.Dir)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// Remember keeps, for the store's owner alone, what a hash of Keyed stands for: what
// settings must not say, such as where private data lie.
func (s Store) Remember(hash string, what any) error {
	path, err := s.remembered(hash)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return explain(path, err)
	}
	return writeAtomic(path, 0o600, asJSON(what))
}

// Recall reads what Remember has kept last. The error is fs.ErrNotExist where that is
// nothing.
func (s Store) Recall(hash string, what any) error {
	path, err := s.remembered(hash)
	if err != nil {
		return err
	}
	return readJSON(path, what)
}

func (s Store) remembered(hash string) (path string, err error) {
	if hash != filepath.Base(hash) {
		return "", fmt.Errorf("run: %q is no hash of this program's: expected hexadecimal digits", hash)
	}
	return filepath.Join(s.Dir, ".inputs", hash+".json"), nil
}

// inputsKey is the file of the key of Keyed.
const inputsKey = ".inputs.key"

// ownKey returns the key of a store, and draws it when it is first needed.
func ownKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, inputsKey)
	key, err := os.ReadFile(path)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run: the key that hashes inputs: %w", err)
	}
	if err == nil {
		return nil, fmt.Errorf("run: the key that hashes inputs, %s, has %d bytes, expected 32; remove it, and runs that were begun are others then", path, len(key))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	key = make([]byte, 32)
	rand.Read(key)                                       // never fails
	err = writeNew(path, 0o600, atomicfile.Content(key)) // only the first of several processes succeeds
	if errors.Is(err, fs.ErrExist) {
		return ownKey(dir)
	}
	return key, err
}
