package npy

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Array is an array with a name.
type Array[T Number] struct {
	Name  string
	Shape []int
	Value []T // row-major
}

// metadataName is an archive's entry that is not an array.
const metadataName = "metadata.json"

// WriteArchive writes arrays as a .npz archive, and metadata beside them as
// JSON. Nothing is compressed: weights hardly shrink. The same content gives
// the same bytes.
func WriteArchive[T Number](w io.Writer, metadata any, arrays []Array[T]) error {
	text, err := json.MarshalIndent(metadata, "", "  ")
	if err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: metadataName, Method: zip.Store})
	if err == nil {
		_, err = entry.Write(append(text, '\n'))
	}
	for _, a := range arrays {
		if err != nil {
			return err
		}
		if entry, err = archive.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store}); err == nil {
			err = WriteOf(entry, a.Shape, a.Value)
		}
	}
	return errors.Join(err, archive.Close())
}

// Archive is what ReadArchive found, by name.
type Archive[T Number] map[string]Array[T]

// ReadArchive reads what WriteArchive has written and decodes its metadata.
// Neither data nor what it unpacks to may be larger than limit, in bytes.
func ReadArchive[T Number](r io.Reader, limit int64, metadata any) (Archive[T], error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the archive has more than the %d bytes allowed", limit)
	}
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("expected a whole .npz archive, found %d bytes that are not (%w); copy or download the file again", len(data), err)
	}
	arrays, described, left := Archive[T]{}, false, limit
	for _, file := range files.File {
		content, err := unpack(file, left)
		if err != nil {
			return nil, fmt.Errorf("%s in the archive: %w; copy or download the file again", file.Name, err)
		}
		left -= int64(len(content))
		if file.Name == metadataName {
			if err := json.Unmarshal(content, metadata); err != nil {
				return nil, fmt.Errorf("%s in the archive: %w", file.Name, err)
			}
			described = true
		} else if name, ok := strings.CutSuffix(file.Name, ".npy"); ok {
			shape, value, err := ReadOf[T](content)
			if err != nil {
				return nil, fmt.Errorf("%s in the archive: %w", file.Name, err)
			}
			arrays[name] = Array[T]{name, shape, value}
		}
	}
	if !described {
		return nil, fmt.Errorf("the archive has no %s, so it was not written by this program; give the path of one that was", metadataName)
	}
	return arrays, nil
}

// unpack returns the content of a file of an archive, whose checksum it checks.
func unpack(file *zip.File, limit int64) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errors.New("it unpacks to more than is allowed")
	}
	return content, err
}

// Take returns the values of the array called name, which must have the shape.
func (a Archive[T]) Take(name string, shape ...int) ([]T, error) {
	array, ok := a[name]
	if !ok {
		return nil, fmt.Errorf("the archive has no array %s", name)
	}
	if !slices.Equal(array.Shape, shape) {
		return nil, fmt.Errorf("array %s has shape %v, expected %v", name, array.Shape, shape)
	}
	return array.Value, nil
}
