package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// transfer appends to part what a mirror has of f beyond it. It tells whether
// part had a start that the mirror did not give. The part is not verified.
func (d Downloader) transfer(ctx context.Context, mirror string, f File, part string) (resumed bool, err error) {
	out, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return false, &DiskError{part, err}
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = &DiskError{part, closeErr}
		}
	}()
	start, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return false, &DiskError{part, err}
	}
	if start == f.Size { // whole, but its download ended before it was verified
		return true, nil
	}
	if start > f.Size {
		if start, err = 0, rewind(out); err != nil {
			return false, &DiskError{part, err}
		}
	}

	ctx, watch := newWatch(ctx, d.Stall)
	defer watch.stop()
	answer, err := d.request(ctx, mirror, f, start)
	if err != nil {
		return start > 0, watch.explain(err)
	}
	defer answer.Body.Close()
	if start > 0 && answer.StatusCode == http.StatusOK { // a mirror that knows no ranges
		if start, err = 0, rewind(out); err != nil {
			return false, &DiskError{part, err}
		}
	}
	sink := &sink{out: out, done: start, each: func(done int64) {
		watch.reset()
		d.report(Progress{File: f.Path, Mirror: mirror, Done: done, Total: f.Size})
	}}
	// One byte more than wanted shows that it is another file.
	_, err = io.Copy(sink, io.LimitReader(answer.Body, f.Size-start+1))
	switch {
	case sink.err != nil:
		return start > 0, &DiskError{part, sink.err}
	case err != nil:
		return start > 0, fmt.Errorf("broke off after %d of %d bytes: %w", sink.done, f.Size, watch.explain(err))
	case sink.done < f.Size:
		return start > 0, fmt.Errorf("ended after %d of %d bytes", sink.done, f.Size)
	}
	if err := out.Sync(); err != nil {
		return start > 0, &DiskError{part, err}
	}
	return start > 0, nil
}

// request asks a mirror for the bytes of f from start on. The answer is the
// rest, or with status 200 the whole.
func (d Downloader) request(ctx context.Context, mirror string, f File, start int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, mirror, nil)
	if err != nil {
		return nil, err
	}
	// The files are packed; a server must not unpack or pack them on the way.
	request.Header.Set("Accept-Encoding", "identity")
	if start > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", start))
	}
	client := d.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	rest := f.Size
	switch {
	case start > 0 && answer.StatusCode == http.StatusPartialContent:
		rest -= start
		if found := answer.Header.Get("Content-Range"); !strings.HasPrefix(found, fmt.Sprintf("bytes %d-", start)) {
			err = fmt.Errorf("asked for bytes from %d on, it sends %q", start, found)
		}
	case answer.StatusCode != http.StatusOK:
		err = fmt.Errorf("answered %q", answer.Status)
	}
	if n := answer.ContentLength; err == nil && n >= 0 && n != rest {
		err = fmt.Errorf("offers %d bytes, expected %d", n, rest)
	}
	if err != nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

func rewind(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// sink writes to a file, counts, and keeps the errors of the file apart from
// those of the network.
type sink struct {
	out  io.Writer
	done int64
	each func(done int64)
	err  error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.out.Write(b)
	s.done += int64(n)
	s.err = err
	s.each(s.done)
	return n, err
}

var errStalled = errors.New("no byte came for too long")

// watch ends a context when nothing happens for a while.
type watch struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
	limit time.Duration
}

func newWatch(parent context.Context, limit time.Duration) (context.Context, *watch) {
	if limit <= 0 {
		limit = 30 * time.Second
	}
	ctx, end := context.WithCancelCause(parent)
	w := &watch{ctx: ctx, end: end, limit: limit}
	w.timer = time.AfterFunc(limit, func() { end(fmt.Errorf("%w (%v)", errStalled, limit)) })
	return ctx, w
}

func (w *watch) reset() { w.timer.Reset(w.limit) }

func (w *watch) stop() {
	w.timer.Stop()
	w.end(nil)
}

// explain returns why the context ended where that is what err comes from.
func (w *watch) explain(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return err
}
