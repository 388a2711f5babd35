package autoencoder

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"molehill/models/layer"
	"molehill/pkg/npy"
)

// fileFormat is the version of the files that Save writes.
const fileFormat = 1

// Meta says where an autoencoder's weights come from.
type Meta struct {
	Format   int               `json:"format"`
	Config   Config            `json:"config"`
	InitSeed uint64            `json:"init_seed"`          // of New
	Dataset  string            `json:"dataset,omitempty"`  // set by whoever trains
	Split    string            `json:"split,omitempty"`    // digest of the public/private partition trained on, where there is one
	Training TrainConfig       `json:"training"`           // as given to Train
	Images   int               `json:"images"`             // number trained on
	Steps    int               `json:"steps"`              // made
	Loss     float64           `json:"loss"`               // mean squared error of the last batch
	Backend  string            `json:"backend,omitempty"`  // that trained
	Versions map[string]string `json:"versions,omitempty"` // of Go and of the libraries that computed
}

// FormatError says that a file is of a format that this program cannot read.
type FormatError struct{ Found, Newest int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("autoencoder: the file has format %d, this program reads up to %d; update the program", e.Found, e.Newest)
}

// Save writes the autoencoder as a NumPy .npz archive: an array of float32 for
// each parameter, and metadata.json.
func (a *Autoencoder) Save(w io.Writer) error {
	meta := a.Meta
	meta.Format, meta.Config = fileFormat, a.Config
	if err := writeArchive(w, meta, a.params); err != nil {
		return fmt.Errorf("autoencoder: saving: %w", err)
	}
	return nil
}

// Load reads what Save has written.
func Load(r io.Reader) (*Autoencoder, error) {
	var meta Meta
	archive, err := readArchive(r, &meta)
	if err != nil {
		return nil, fmt.Errorf("autoencoder: loading: %w", err)
	}
	if meta.Format > fileFormat {
		return nil, &FormatError{meta.Format, fileFormat}
	}
	if err := meta.Config.check(); err != nil {
		return nil, err
	}
	a := &Autoencoder{Config: meta.Config, Meta: meta}
	for _, spec := range meta.Config.network().Params() {
		value, err := archive.take(spec.Name, spec.Shape)
		if err != nil {
			return nil, fmt.Errorf("autoencoder: loading: %w", err)
		}
		a.params = append(a.params, layer.Param{Spec: spec, Value: value})
	}
	return a, nil
}

// metadataName is the archive's entry that is not an array.
const metadataName = "metadata.json"

// largestArchive bounds what a file may unpack to, in bytes: the largest
// network with its moments takes a third of it.
const largestArchive = 1 << 29

// writeArchive writes metadata and arrays as a .npz archive. The same content
// gives the same bytes.
func writeArchive(w io.Writer, metadata any, arrays layer.Params) error {
	archive := zip.NewWriter(w)
	text, err := json.MarshalIndent(metadata, "", "  ")
	if err != nil {
		return err
	}
	entry, err := archive.Create(metadataName)
	if err == nil {
		_, err = entry.Write(append(text, '\n'))
	}
	for _, p := range arrays {
		if err != nil {
			return err
		}
		if entry, err = archive.Create(p.Name + ".npy"); err == nil {
			err = npy.Write(entry, p.Shape, p.Value)
		}
	}
	return errors.Join(err, archive.Close())
}

// archive is what readArchive found.
type archive map[string]layer.Param

// readArchive reads what writeArchive has written and decodes its metadata.
func readArchive(r io.Reader, metadata any) (archive, error) {
	data, err := io.ReadAll(io.LimitReader(r, largestArchive))
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("expected a whole .npz archive, found %d bytes that are not (%w); copy or download the file again", len(data), err)
	}
	arrays, described := archive{}, false
	left := int64(largestArchive)
	for _, file := range files.File {
		content, err := readEntry(file, left)
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
			shape, value, err := npy.Read(content)
			if err != nil {
				return nil, fmt.Errorf("%s in the archive: %w", file.Name, err)
			}
			arrays[name] = layer.Param{Spec: layer.Spec{Name: name, Shape: shape}, Value: value}
		}
	}
	if !described {
		return nil, fmt.Errorf("the archive has no %s, so it was not written by this program; give the path of one that was", metadataName)
	}
	return arrays, nil
}

// readEntry unpacks a file of an archive, which checks its checksum.
func readEntry(file *zip.File, limit int64) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it unpacks to more than the %d bytes allowed", int64(largestArchive))
	}
	return content, err
}

// take returns the array called name, which must have the shape.
func (a archive) take(name string, shape []int) ([]float32, error) {
	p, ok := a[name]
	if !ok {
		return nil, fmt.Errorf("the archive has no array %s", name)
	}
	if !slices.Equal(p.Shape, shape) {
		return nil, fmt.Errorf("array %s has shape %v, expected %v", name, p.Shape, shape)
	}
	return p.Value, nil
}

// versions lists what determines the numbers: Go and the libraries that
// compute.
func versions() map[string]string {
	found := map[string]string{"go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "github.com/gomlx/") {
				found[m.Path] = m.Version
			}
		}
	}
	return found
}
