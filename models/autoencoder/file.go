package autoencoder

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"molehill/models/layer"
	"molehill/pkg/npy"
)

// fileFormat is the version of the files that Save writes. Format 1 has Conv
// alone, with the papers' side and width.
const fileFormat = 2

// Meta says where an autoencoder's weights come from.
type Meta struct {
	Format   int               `json:"format"`
	Config   Config            `json:"config"`
	InitSeed uint64            `json:"init_seed"`          // of New
	Dataset  string            `json:"dataset,omitempty"`  // set by whoever trains
	Split    string            `json:"split,omitempty"`    // digest of the public/private partition trained on, where there is one
	Inputs   string            `json:"inputs,omitempty"`   // digest of the data set's rows, where no version fixes them
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
	var arrays []npy.Array[float32]
	for _, p := range a.params {
		arrays = append(arrays, npy.Array[float32]{Name: p.Name, Shape: p.Shape, Value: p.Value})
	}
	if err := npy.WriteArchive(w, meta, arrays); err != nil {
		return fmt.Errorf("autoencoder: saving: %w", err)
	}
	return nil
}

// Load reads what Save has written.
func Load(r io.Reader) (*Autoencoder, error) {
	var meta Meta
	archive, err := npy.ReadArchive[float32](r, largestArchive, &meta)
	if err != nil {
		return nil, fmt.Errorf("autoencoder: loading: %w", err)
	}
	if meta.Format > fileFormat {
		return nil, &FormatError{meta.Format, fileFormat}
	}
	meta.Config = meta.Config.complete()
	if err := meta.Config.check(); err != nil {
		return nil, err
	}
	a := &Autoencoder{Config: meta.Config, Meta: meta}
	for _, spec := range meta.Config.network().Params() {
		value, err := archive.Take(spec.Name, spec.Shape...)
		if err != nil {
			return nil, fmt.Errorf("autoencoder: loading: %w", err)
		}
		a.params = append(a.params, layer.Param{Spec: spec, Value: value})
	}
	return a, nil
}

// largestArchive bounds what a file may unpack to, in bytes: the largest
// network takes a quarter of it.
const largestArchive = 1 << 29

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
