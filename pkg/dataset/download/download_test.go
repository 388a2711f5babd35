package download

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// content is what mirrors should give: 300 kB that do not repeat.
var content = func() []byte {
	b := make([]byte, 300_000)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}()

// mirror counts what it is asked and answers as its kind does.
type mirror struct {
	*httptest.Server
	asked, ranges atomic.Int64
}

func newMirror(t *testing.T, answer http.HandlerFunc) *mirror {
	m := new(mirror)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		if r.Header.Get("Range") != "" {
			m.ranges.Add(1)
		}
		answer(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// good knows ranges.
func good(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "file", time.Time{}, bytes.NewReader(content))
}

// rangeless gives the whole whatever it is asked.
func rangeless(w http.ResponseWriter, _ *http.Request) { w.Write(content) }

// corrupt has one wrong byte.
func corrupt(w http.ResponseWriter, r *http.Request) {
	b := bytes.Clone(content)
	b[200_000] ^= 1
	http.ServeContent(w, r, "file", time.Time{}, bytes.NewReader(b))
}

// breaking promises everything and hangs up after 100 kB.
func breaking(w http.ResponseWriter, r *http.Request) {
	good(&limited{ResponseWriter: w, left: 100_000}, r)
}

type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left < len(b) {
		l.ResponseWriter.Write(b[:l.left])
		l.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	l.left -= len(b)
	return l.ResponseWriter.Write(b)
}

// stuck gives 100 kB and then nothing for as long as the client waits.
func stuck(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:100_000])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func fileFrom(mirrors ...*mirror) File {
	sum := sha256.Sum256(content)
	f := File{Path: "set/file.gz", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	for _, m := range mirrors {
		f.Mirrors = append(f.Mirrors, m.URL)
	}
	return f
}

// whole fails the test unless f is in place and nothing else but the lock.
func whole(t *testing.T, f File, folder string) {
	t.Helper()
	if err := f.Check(f.In(folder)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.In(folder) + ".part"); err == nil {
		t.Error("a .part is left")
	}
}

func TestGetFromMirrorsOfAllKinds(t *testing.T) {
	for name, c := range map[string]struct {
		kinds []http.HandlerFunc
		part  []byte // what an earlier try left
	}{
		"good":                          {[]http.HandlerFunc{good}, nil},
		"not found, then good":          {[]http.HandlerFunc{http.NotFound, good}, nil},
		"corrupt, then good":            {[]http.HandlerFunc{corrupt, good}, nil},
		"breaking, then good":           {[]http.HandlerFunc{breaking, good}, nil},
		"only breaking":                 {[]http.HandlerFunc{breaking}, nil},
		"stuck, then good":              {[]http.HandlerFunc{stuck, good}, nil},
		"rangeless after a part":        {[]http.HandlerFunc{rangeless}, content[:70_000]},
		"good after a part":             {[]http.HandlerFunc{good}, content[:70_000]},
		"good after a whole part":       {[]http.HandlerFunc{good}, content},
		"good after a part too long":    {[]http.HandlerFunc{good}, append(bytes.Clone(content), 1)},
		"good after a bad part":         {[]http.HandlerFunc{good}, make([]byte, 70_000)},
		"good after a bad whole part":   {[]http.HandlerFunc{good}, make([]byte, len(content))},
		"corrupt, breaking, not, good":  {[]http.HandlerFunc{corrupt, breaking, http.NotFound, good}, nil},
		"breaking, corrupt, rangeless.": {[]http.HandlerFunc{breaking, corrupt, rangeless}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			var mirrors []*mirror
			for _, kind := range c.kinds {
				mirrors = append(mirrors, newMirror(t, kind))
			}
			f := fileFrom(mirrors...)
			if c.part != nil {
				os.MkdirAll(filepath.Dir(f.In(folder)), 0o755)
				os.WriteFile(f.In(folder)+".part", c.part, 0o644)
				os.WriteFile(f.In(folder), content[1:], 0o644) // damaged, and to be replaced
			}
			var last Progress
			d := Downloader{Stall: 200 * time.Millisecond, Report: func(p Progress) { last = p }}
			if err := d.Get(context.Background(), f, folder); err != nil {
				t.Fatal(err)
			}
			whole(t, f, folder)
			if c.part == nil && (last.Done != f.Size || last.Total != f.Size || last.File != f.Path || last.Mirror == "") {
				t.Errorf("last progress %+v", last)
			}
			if len(c.part) == 70_000 && mirrors[0].ranges.Load() == 0 {
				t.Error("the part was not resumed")
			}
			asked := mirrors[0].asked.Load()
			if err := d.Get(context.Background(), f, folder); err != nil || mirrors[0].asked.Load() != asked {
				t.Errorf("a file that is there is asked for again (%v)", err)
			}
		})
	}
}

// A mirror that goes on from elsewhere is passed over, and what was there is kept.
func TestARangeThatWasNotAskedFor(t *testing.T) {
	elsewhere := newMirror(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			good(w, r)
			return
		}
		w.Header().Set("Content-Range", "bytes 0-229999/300000")
		w.WriteHeader(http.StatusPartialContent)
		w.Write(content[:230_000])
	})
	next := newMirror(t, good)
	f, folder := fileFrom(elsewhere, next), t.TempDir()
	os.MkdirAll(filepath.Dir(f.In(folder)), 0o755)
	os.WriteFile(f.In(folder)+".part", content[:70_000], 0o644)
	if err := (Downloader{}).Get(context.Background(), f, folder); err != nil {
		t.Fatal(err)
	}
	whole(t, f, folder)
	if elsewhere.asked.Load() != 1 || next.asked.Load() != 1 || next.ranges.Load() != 1 {
		t.Errorf("%d requests, then %d of which %d go on; want one, and one that goes on", elsewhere.asked.Load(), next.asked.Load(), next.ranges.Load())
	}
}

// Servers say of packed files that they are packed; these are to stay so.
func TestPackedFilesStayPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(content)
	w.Close()
	m := newMirror(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	})
	f, folder, sum := fileFrom(m), t.TempDir(), sha256.Sum256(packed.Bytes())
	f.Size, f.SHA256 = int64(packed.Len()), hex.EncodeToString(sum[:])
	if err := (Downloader{}).Get(context.Background(), f, folder); err != nil {
		t.Fatal(err)
	}
	whole(t, f, folder)
	if asked := m.asked.Load(); asked != 1 {
		t.Errorf("%d requests, want 1", asked)
	}
}

func TestEveryMirrorsFailureIsTold(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>please log in</html>")) }
	mirrors := []*mirror{newMirror(t, http.NotFound), newMirror(t, corrupt), newMirror(t, page), newMirror(t, stuck)}
	mirrors = append(mirrors, newMirror(t, good))
	mirrors[4].Close()
	f, folder := fileFrom(mirrors...), t.TempDir()
	os.MkdirAll(filepath.Dir(f.In(folder)), 0o755)
	os.WriteFile(f.In(folder), []byte("what was there"), 0o644)
	err := Downloader{Stall: 100 * time.Millisecond}.Get(context.Background(), f, folder)
	var failed *MirrorsError
	if !errors.As(err, &failed) || len(failed.Failures) != 5 {
		t.Fatalf("%v, want *MirrorsError with 5 failures", err)
	}
	for i, want := range []string{"404", "gave another file", "offers 26 bytes, expected 300000", "no byte came for too long", "refused"} {
		if got := failed.Failures[i].Error(); !strings.Contains(got, mirrors[i].URL) || !strings.Contains(got, want) {
			t.Errorf("failure %d is %q, want it to say %q and its address", i, got, want)
		}
	}
	if kept, _ := os.ReadFile(f.In(folder)); string(kept) != "what was there" {
		t.Errorf("found %q, want what was there", kept)
	}
	if err := (Downloader{}).Get(context.Background(), fileFrom(), folder); !errors.As(err, &failed) {
		t.Errorf("no mirrors: %v", err)
	}
}

func TestStoppedDownloadIsResumed(t *testing.T) {
	slow, resumed := newMirror(t, stuck), newMirror(t, good)
	f, folder := fileFrom(slow), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := Downloader{Report: func(p Progress) {
		if p.Done >= 100_000 {
			cancel()
		}
	}}
	err := d.Get(ctx, f, folder)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "100000 of 300000 bytes, which are kept") {
		t.Fatalf("%v, want context.Canceled and what is kept", err)
	}
	if part, _ := os.ReadFile(f.In(folder) + ".part"); !bytes.Equal(part, content[:100_000]) {
		t.Fatalf("part of %d bytes", len(part))
	}
	f.Mirrors = []string{resumed.URL}
	first := int64(-1)
	d.Report = func(p Progress) {
		if first < 0 {
			first = p.Done
		}
	}
	if err := d.Get(context.Background(), f, folder); err != nil {
		t.Fatal(err)
	}
	whole(t, f, folder)
	if first <= 100_000 || resumed.asked.Load() != 1 || resumed.ranges.Load() != 1 {
		t.Errorf("began again at %d, with %d requests", first, resumed.asked.Load())
	}
}

// Eight callers share a mirror that breaks; each of them ends with the file,
// and the mirror gives it once.
func TestConcurrentCallersDoNotDisturbEachOther(t *testing.T) {
	m := newMirror(t, breaking)
	f, folder := fileFrom(m), t.TempDir()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if err := (Downloader{}).Get(context.Background(), f, folder); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	whole(t, f, folder)
	if asked := m.asked.Load(); asked != 3 {
		t.Errorf("%d requests, want 3 for three thirds", asked)
	}
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	m := newMirror(t, stuck)
	f, folder := fileFrom(m), t.TempDir()
	first, stop := context.WithCancel(context.Background())
	done := make(chan error)
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	go func() { done <- Downloader{Report: func(Progress) { once() }}.Get(first, f, folder) }()
	<-begun
	second, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := (Downloader{}).Get(second, f, folder); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want context.DeadlineExceeded", err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// A full disk, as /dev/full plays it.
func TestFullDiskLosesNothing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full on this system: ", err)
	}
	first, second := newMirror(t, good), newMirror(t, good)
	f, folder := fileFrom(first, second), t.TempDir()
	os.MkdirAll(filepath.Dir(f.In(folder)), 0o755)
	os.WriteFile(f.In(folder), []byte("what was there"), 0o644)
	if err := os.Symlink("/dev/full", f.In(folder)+".part"); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	err := Downloader{}.Get(context.Background(), f, folder)
	var disk *DiskError
	if !errors.As(err, &disk) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("%v, want *DiskError", err)
	}
	if second.asked.Load() != 0 {
		t.Error("the next mirror was asked, though the disk is full")
	}
	if kept, _ := os.ReadFile(f.In(folder)); string(kept) != "what was there" {
		t.Errorf("found %q, want what was there", kept)
	}
}

func TestFolderThatCannotBeMade(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a file")
	os.WriteFile(folder, nil, 0o644)
	var disk *DiskError
	if err := (Downloader{}).Get(context.Background(), fileFrom(newMirror(t, good)), folder); !errors.As(err, &disk) {
		t.Errorf("%v, want *DiskError", err)
	}
}

func TestFileOfUnknownSum(t *testing.T) {
	// Only the size is compared: that of another file is refused, and its
	// content is up to the reader.
	short := newMirror(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(content[1:]) })
	damaged := newMirror(t, corrupt)
	f, folder := fileFrom(short, damaged), t.TempDir()
	f.SHA256 = ""
	if err := (Downloader{}).Get(context.Background(), f, folder); err != nil {
		t.Fatal(err)
	}
	whole(t, f, folder)
	os.Truncate(f.In(folder), 10)
	var mismatch *MismatchError
	if err := f.Check(f.In(folder)); !errors.As(err, &mismatch) {
		t.Errorf("%v, want *MismatchError", err)
	}
}
