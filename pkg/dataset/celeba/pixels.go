package celeba

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/sync/errgroup"
)

// largestFile bounds an image file, in bytes: a hundred times the usual size.
const largestFile = 1 << 20

// Pixels reads images, [len(names), Side, Side, 3], 0 to 255. It reads on all
// cores; beside the result it holds one image for each. progress, if not nil, is
// called from one goroutine at a time as images are done.
func (s *Set) Pixels(ctx context.Context, names []string, progress func(done int)) ([]byte, error) {
	pixels := make([]byte, len(names)*Dim)
	square := s.Layout.square()
	// The triangle kernel grows with the shrinking, so that every pixel of the
	// photograph counts.
	scaler := draw.BiLinear.NewScaler(Side, Side, square.Dx(), square.Dy())
	err := s.each(ctx, names, progress, func(i int, path string, content []byte) error {
		photograph, err := s.Layout.decode(path, content)
		if err != nil {
			return err
		}
		small := image.NewRGBA(image.Rect(0, 0, Side, Side))
		scaler.Scale(small, small.Bounds(), photograph, square.Add(photograph.Bounds().Min), draw.Src, nil)
		to := pixels[i*Dim : (i+1)*Dim]
		for k := range Side * Side {
			copy(to[3*k:3*k+3], small.Pix[4*k:])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pixels, nil
}

// Digest is the SHA-256, in hexadecimal digits, of the layout and the names and
// contents of all images, in their order. progress is as for Pixels.
func (s *Set) Digest(ctx context.Context, progress func(done int)) (string, error) {
	names := s.names()
	sums := make([][sha256.Size]byte, len(names))
	err := s.each(ctx, names, progress, func(i int, _ string, content []byte) error {
		sums[i] = sha256.Sum256(content)
		return nil
	})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "celeba 1 %+v %d for training\n", s.Layout, len(s.Train))
	for i, name := range names {
		fmt.Fprintf(h, "%s %x\n", name, sums[i])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// names lists all images, first those for training.
func (s *Set) names() []string {
	return append(s.Train[:len(s.Train):len(s.Train)], s.Test...)
}

// each reads files on all cores.
func (s *Set) each(ctx context.Context, names []string, progress func(int), do func(i int, path string, content []byte) error) error {
	var mu sync.Mutex
	done := 0
	workers, working := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		if working.Err() != nil {
			break
		}
		workers.Go(func() error {
			path := filepath.Join(s.Folder, s.Layout.Images, name)
			content, err := readFile(path)
			if err == nil {
				err = do(i, path, content)
			}
			if err == nil && progress != nil {
				mu.Lock()
				defer mu.Unlock()
				done++
				progress(done)
			}
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &Error{File: path, Expected: "an image", Found: err.Error(), Do: "put a copy of it there", Err: err}
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, largestFile+1))
	if err != nil {
		return nil, &Error{File: path, Expected: "an image", Found: err.Error(), Do: replace, Err: err}
	}
	if len(content) > largestFile {
		return nil, &Error{File: path, Expected: fmt.Sprintf("an image of at most %d bytes", largestFile), Found: "a larger file", Do: replace}
	}
	return content, nil
}

// square is the middle square of an image.
func (l Layout) square() image.Rectangle {
	side := min(l.Width, l.Height)
	left, top := (l.Width-side)/2, (l.Height-side)/2
	return image.Rect(left, top, left+side, top+side)
}

// decode reads a JPEG file, which must have the layout's size.
func (l Layout) decode(path string, content []byte) (image.Image, error) {
	fault := &Error{File: path, Expected: fmt.Sprintf("a JPEG image of %d×%d pixels", l.Width, l.Height), Do: replace}
	header, err := jpeg.DecodeConfig(bytes.NewReader(content))
	if err == nil && (header.Width != l.Width || header.Height != l.Height) {
		fault.Found = fmt.Sprintf("%d×%d pixels", header.Width, header.Height)
		return nil, fault
	}
	var photograph image.Image
	if err == nil { // the header's size is no larger than it should be
		photograph, err = jpeg.Decode(bytes.NewReader(content))
	}
	if err != nil {
		fault.Found, fault.Err = fmt.Sprintf("%d bytes that are none (%v)", len(content), err), err
		return nil, fault
	}
	return photograph, nil
}
