// Package download gets files of known content from mirrors: verified,
// resumable, and put in place whole or not at all.
package download

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Progress is how far a download has come.
type Progress struct {
	File   string // File.Path
	Mirror string // the address in use, "" if the file was there already
	Done   int64  // bytes, from 0 to Total; it falls when a start turns out to be damaged
	Total  int64  // bytes
}

// Downloader gets files. The zero value works.
type Downloader struct {
	Client *http.Client   // nil: http.DefaultClient
	Stall  time.Duration  // give a mirror up after so long without a byte; 0: 30 s
	Report func(Progress) // called as bytes arrive, from one goroutine at a time; or nil
}

// MirrorsError says that no mirror gave a file.
type MirrorsError struct {
	Path     string  // where it was to be put
	Failures []error // the last of each mirror, each naming it
}

func (e *MirrorsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: no mirror gave the file", e.Path)
	for _, failure := range e.Failures {
		fmt.Fprintf(&b, "; %v", failure)
	}
	b.WriteString("; check the network and try again, or put the file there by hand")
	return b.String()
}

// Unwrap returns the failures.
func (e *MirrorsError) Unwrap() []error { return e.Failures }

// DiskError says that a file could not be written. What had been written
// stays for the next try.
type DiskError struct {
	Path string
	Err  error
}

func (e *DiskError) Error() string {
	return fmt.Sprintf("%s: cannot be written (%v); free some space or choose another folder, then run again: it goes on where it stopped",
		e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *DiskError) Unwrap() error { return e.Err }

// Get puts f below folder and does nothing if it is there already. What has
// come so far is kept beside it under the name .part until it is whole and
// verified; a call that was stopped, by ctx or a crash or a full disk, is
// continued by the next one. Mirrors that fail or give something else are
// passed over. Several callers, also from other processes, wait for each
// other.
func (d Downloader) Get(ctx context.Context, f File, folder string) error {
	path := f.In(folder)
	if d.present(f, path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &DiskError{path, err}
	}
	lock := flock.New(filepath.Join(filepath.Dir(path), ".lock"))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: stopped while another download had the folder: %w", path, ctx.Err())
		}
		return &DiskError{lock.Path(), err}
	}
	defer lock.Unlock()
	if d.present(f, path) { // thanks to whoever had the lock
		return nil
	}
	return d.round(ctx, f, path)
}

func (d Downloader) present(f File, path string) bool {
	if f.Check(path) != nil {
		return false
	}
	d.report(Progress{File: f.Path, Done: f.Size, Total: f.Size})
	return true
}

// round tries the mirrors in turn, and again as long as that brings bytes:
// connections that break after a while still add up to a file.
func (d Downloader) round(ctx context.Context, f File, path string) error {
	part := path + ".part"
	var failures []error
	for have := sizeOf(part); ; {
		failures = failures[:0]
		for _, mirror := range f.Mirrors {
			err := d.from(ctx, mirror, f, part)
			if err == nil {
				return place(part, path)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s: stopped with %d of %d bytes, which are kept; run again to go on: %w",
					path, sizeOf(part), f.Size, ctx.Err())
			}
			if _, ok := errors.AsType[*DiskError](err); ok {
				return err
			}
			failures = append(failures, fmt.Errorf("%s: %w", mirror, err))
		}
		now := sizeOf(part)
		if now <= have {
			return &MirrorsError{path, failures}
		}
		have = now
	}
}

// from completes part from one mirror and verifies it.
func (d Downloader) from(ctx context.Context, mirror string, f File, part string) error {
	for {
		resumed, err := d.transfer(ctx, mirror, f, part)
		if err != nil {
			return err
		}
		err = f.Check(part)
		if err == nil {
			return nil
		}
		if removeErr := os.Remove(part); removeErr != nil {
			return &DiskError{part, removeErr}
		}
		if !resumed {
			return fmt.Errorf("gave another file: %w", err)
		}
		// What was there already may have been bad: once more from its start.
	}
}

// place moves a verified part to its path, durably.
func place(part, path string) error {
	if err := os.Rename(part, path); err != nil {
		return &DiskError{path, err}
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		folder.Sync() // not every file system can; the file itself is safe
		folder.Close()
	}
	return nil
}

// sizeOf returns how many bytes of a part there are.
func sizeOf(part string) int64 {
	info, err := os.Stat(part)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (d Downloader) report(p Progress) {
	if d.Report != nil {
		d.Report(p)
	}
}
