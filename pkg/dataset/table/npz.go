package table

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/npy"
)

// maxNPZ is the most that an array of an archive may unpack to, in bytes.
const maxNPZ = 8 << 30

// npzSource reads the arrays of a NumPy archive as columns: one of [n] is a column
// of its name, one of [n, k] is k of them, name_0 … .
type npzSource struct {
	header []string
	values [][]float64
	at     int
	row    []string
}

func openNPZ(path string) (Source, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("expected a whole .npz archive: %w", err)
	}
	s, err := newNPZ(&archive.Reader)
	return s, errors.Join(err, archive.Close())
}

func newNPZ(archive *zip.Reader) (*npzSource, error) {
	s := &npzSource{}
	for _, file := range archive.File {
		name, ok := strings.CutSuffix(file.Name, ".npy")
		if !ok {
			continue
		}
		if err := s.add(name, file); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	if len(s.header) == 0 {
		return nil, errors.New("it has no arrays; expected some of shape [rows] or [rows, columns]")
	}
	s.row = make([]string, len(s.header))
	return s, nil
}

func (s *npzSource) add(name string, file *zip.File) error {
	from, err := file.Open()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(from, maxNPZ+1))
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if len(text) > maxNPZ {
		return fmt.Errorf("it unpacks to more than %d bytes", int64(maxNPZ))
	}
	v, err := npy.Look(text)
	if err != nil {
		return err
	}
	if len(v.Shape) < 1 || len(v.Shape) > 2 {
		return fmt.Errorf("shape %v: expected [rows] or [rows, columns]", v.Shape)
	}
	rows, width := v.Shape[0], 1
	names := []string{name}
	if len(v.Shape) == 2 {
		if width = v.Shape[1]; width > MaxColumns {
			return fmt.Errorf("it has %d columns; expected at most %d", width, MaxColumns)
		}
		names = nil
		for j := range width {
			names = append(names, name+"_"+strconv.Itoa(j))
		}
	}
	if len(s.values) > 0 && len(s.values[0]) != rows {
		return fmt.Errorf("it has %d rows, others have %d; all arrays need as many", rows, len(s.values[0]))
	}
	for j, n := range names {
		column := make([]float64, rows)
		for i := range column {
			column[i] = v.At(i*width + j)
		}
		s.header, s.values = append(s.header, n), append(s.values, column)
	}
	return nil
}

// Header implements Source.
func (s *npzSource) Header() []string { return slices.Clone(s.header) }

// Read implements Source.
func (s *npzSource) Read() ([]string, error) {
	if s.at >= len(s.values[0]) {
		return nil, io.EOF
	}
	for j, column := range s.values {
		if s.row[j] = ""; !math.IsNaN(column[s.at]) { // which is how NumPy has missing values
			s.row[j] = spell(column[s.at], 64)
		}
	}
	s.at++
	return s.row, nil
}

// Unread implements Source.
func (s *npzSource) Unread(int) error { return nil }

// Texts implements Source.
func (s *npzSource) Texts(int) bool { return false }

// Close implements Source.
func (s *npzSource) Close() error { return nil }
