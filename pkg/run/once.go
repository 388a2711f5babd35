package run

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"molehill/pkg/atomicfile"
)

// marks are what a computation knows of the releases of its run: of each its name and
// what it was made of, both hashed under the noise key.
type marks struct {
	mu    sync.Mutex
	file  *os.File // nil before the first
	key   [32]byte
	made  map[[markSize / 2]byte][markSize / 2]byte
	size  int64 // of the file, in whole marks
	fresh bool  // some may not be on the disk yet
	fault error // after which nobody knows what the file holds
	all   bool  // no further release is to come
}

const markSize = 32

// Complete says that the run has made all its releases, as one does that went on after
// its payment was committed: from now on Once knows these again, and takes no other. What
// would make another is a copy of the folder, from before its original made it.
func (r *Run) Complete() error {
	r.holding.mu.Lock()
	defer r.holding.mu.Unlock()
	if err := r.holding.require(r); err != nil {
		return err
	}
	m := r.holding.marks
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = true
	return nil
}

// ErrOther is in what Once says of a digest that is not the one before.
var ErrOther = errors.New("came to other values")

// Once keeps that the release of a name was made of what has this digest, and refuses
// any other from then on, also after a crash. A run that goes on computes the steps since
// its last checkpoint again, and where a device does not repeat itself the same noise
// would come upon other values, whose difference it then no longer hides. Call it before
// anything leaves that the noise was added to: when it returns the mark outlives this
// process, and it is on the disk before an event, a checkpoint or an artefact is that may tell of the release.
//
// The file of marks, 32 bytes a release, is keyed as Bind's is: it tells nobody anything,
// and Finish removes it with the key. Research runs protect nobody, and keep none.
func (r *Run) Once(name string, digest [32]byte) error {
	if r.Spec.Research {
		return nil
	}
	c := &r.holding
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.require(r); err != nil {
		return err
	}
	return c.marks.add(r, name, digest)
}

// open reads the marks of a run whose lock the caller holds.
func (m *marks) open(r *Run) error {
	key, err := secureKey(r.Dir)
	if err != nil {
		return err
	}
	path := r.path(keyOnce)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	kept := len(text) / markSize * markSize // what a crash has cut short was not released
	// A process that was killed may have written what is not on the disk yet.
	if err := errors.Join(file.Truncate(int64(kept)), file.Sync(), atomicfile.SyncFolder(r.Dir)); err != nil {
		return errors.Join(fmt.Errorf("run: %w", err), file.Close())
	}
	m.file, m.key, m.size, m.made = file, key, int64(kept), map[[markSize / 2]byte][markSize / 2]byte{}
	for at := 0; at < kept; at += markSize {
		m.made[[markSize / 2]byte(text[at:])] = [markSize / 2]byte(text[at+markSize/2:])
	}
	return nil
}

func (m *marks) add(r *Run, name string, digest [32]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return m.fault
	}
	if m.file == nil {
		if err := m.open(r); err != nil {
			return err
		}
	}
	release, of := m.hash("release", []byte(name)), m.hash("release of", []byte(name), digest[:])
	if before, known := m.made[release]; known {
		if before != of {
			return fmt.Errorf("run: %s %w than when it made this release before, and the same noise on both would give away their difference; go on with the program and on the machine that it began with, and if it comes out otherwise there too, delete the run and pay for a new one", r.ID, ErrOther)
		}
		return nil
	}
	if m.all {
		return fmt.Errorf("run: %s has made all its releases, says the ledger, and %s knows nothing of this one: it is a copy from before they were made, and whatever comes out otherwise here would share their noise; look at the run where it was completed, or delete this copy and pay for a new one", r.ID, r.Dir)
	}
	if _, err := m.file.Write(append(release[:], of[:]...)); err != nil {
		m.fault = m.file.Truncate(m.size) // half a mark would shift all that come after it
		return errors.Join(fmt.Errorf("run: %w; nothing was released", err), m.fault)
	}
	m.made[release] = of
	m.size += markSize
	m.fresh = true
	return nil
}

// sync forces all marks to the disk. It comes before whatever may tell of a release: a
// mark that a power cut takes away is then of a release that nobody has seen.
func (m *marks) sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fresh && m.fault == nil {
		m.fault = m.file.Sync() // another one may say nothing of what this one could not write
		m.fresh = m.fault != nil
	}
	if m.fault != nil {
		return explain(m.file.Name(), m.fault)
	}
	return nil
}

func (m *marks) hash(what string, parts ...[]byte) (sum [markSize / 2]byte) {
	mac := hmac.New(sha256.New, m.key[:])
	io.WriteString(mac, "molehill "+what+"\x00")
	for _, part := range parts {
		mac.Write(part)
	}
	copy(sum[:], mac.Sum(nil))
	return sum
}

func (m *marks) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
