package table

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/dataset/schema"
	"molehill/pkg/npy"
)

// maxNPZ is the most that the arrays of an archive may unpack to together, in bytes: they
// are held, and a small file may hold large ones. A variable for tests.
var maxNPZ uint64 = 4 << 30

// npzSource reads the arrays of a NumPy archive as columns: one of [n] is a column
// of its name, one of [n, k] is k of them, name_0 … .
type npzSource struct {
	header   []string
	columns  []npzColumn
	rows, at int
	row      []string
	size     uint64 // of the archive, in bytes
	unpacked uint64 // bytes
}

// tightest is how many bytes deflate makes of one at most (the page of zlib's technical
// details): an archive that says more is damaged, and what it says is not believed.
const tightest = 1032

// npzColumn is a column of an array.
type npzColumn struct {
	of            npy.View
	width, column int
}

// at spells a value; "" is a missing one, for which NumPy has NaN.
func (c npzColumn) at(row int) string {
	i := row*c.width + c.column
	if text, whole := c.of.Whole(i); whole {
		return text
	}
	if v := c.of.At(i); !math.IsNaN(v) {
		return spell(v, 64)
	}
	return ""
}

func openNPZ(path string) (Source, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := readNPZ(file)
	return s, errors.Join(err, file.Close())
}

// readNPZ reads the arrays of an archive.
func readNPZ(file *os.File) (*npzSource, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("expected a whole .npz archive: %w", err)
	}
	s := &npzSource{size: uint64(info.Size())}
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
	if file.UncompressedSize64 > maxNPZ-s.unpacked {
		return fmt.Errorf("with it the archive unpacks to more than %d bytes; give fewer rows or columns, numbers of fewer bytes, or a Parquet or CSV file, which are read row by row", maxNPZ)
	}
	if packed := min(file.CompressedSize64, s.size); file.UncompressedSize64 > tightest*packed {
		return fmt.Errorf("it is damaged: %d bytes cannot unpack to %d; write the archive again", packed, file.UncompressedSize64)
	}
	s.unpacked += file.UncompressedSize64
	from, err := file.Open()
	if err != nil {
		return err
	}
	text := make([]byte, file.UncompressedSize64)
	if _, err = io.ReadFull(from, text); err == nil {
		_, err = from.Read(make([]byte, 1)) // to the end, where the archive's checksum is looked at
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, from.Close()); err != nil {
		return err
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
	if len(s.columns) > 0 && s.rows != rows {
		return fmt.Errorf("it has %d rows, others have %d; all arrays need as many", rows, s.rows)
	}
	s.rows = rows
	for j, n := range names {
		s.header, s.columns = append(s.header, n), append(s.columns, npzColumn{v, width, j})
	}
	return nil
}

// Header implements Source.
func (s *npzSource) Header() []string { return slices.Clone(s.header) }

// Read implements Source.
func (s *npzSource) Read() ([]string, error) {
	if s.at >= s.rows {
		return nil, io.EOF
	}
	for j, column := range s.columns {
		s.row[j] = column.at(s.at)
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
