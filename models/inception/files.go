package inception

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molehill/models/layer"
	"molehill/pkg/dataset"
	"molehill/pkg/npy"
)

// Where weights lie below a data folder.
const (
	folderName  = "inception-2015"
	archiveName = "inception-2015.npz" // written by Fetch
)

// NotFoundError says that there are no weights in the places where they may be.
type NotFoundError struct {
	Looked []string // folders
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("inception: the network's weights are not on this machine: expected %s or weights_*.dat in one of %s; run `molehill data fetch inception` (89 MB, once), or set %s to the folder that has %s/",
		archiveName, strings.Join(e.Looked, ", "), dataset.FolderVariable, folderName)
}

// Open returns the network from inception-2015/ below a data folder: dir, or
// where data sets are looked for if dir is "" (the folder that MOLEHILL_DATA
// names, shared/data beside the module, the user's cache). The whole network,
// which Fetch has stored, is preferred wherever it is; else it is the one cut
// after mixed_7, from a folder of weights. Weights that are not those of the
// network of 2015 give a *MismatchError, none a *NotFoundError.
func Open(dir string) (*Network, error) {
	folders := dataset.Folders(dir)
	missing := &NotFoundError{}
	for _, folder := range folders {
		path := filepath.Join(folder, folderName, archiveName)
		n, err := openArchive(path, checkPrints)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
	}
	for _, folder := range folders {
		folder = filepath.Join(folder, folderName)
		n, err := openFolder(folder)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		missing.Looked = append(missing.Looked, folder)
	}
	return nil, missing
}

// Installed is the Metric of the network that Open would find, of whose weights nothing is
// read; "" if there is none.
func Installed(dir string) string {
	cut := false
	for _, folder := range dataset.Folders(dir) {
		folder = filepath.Join(folder, folderName)
		if _, err := os.Stat(filepath.Join(folder, archiveName)); err == nil {
			return metricOf(Full)
		}
		_, err := os.Stat(filepath.Join(folder, "weights_conv.dat"))
		cut = cut || err == nil
	}
	if cut {
		return metricOf(Cut)
	}
	return ""
}

// openFolder reads the network up to mixed_7 from a folder of one file for each
// layer's kernel, weights_<layer>.dat, [out, height, width, in], and bias,
// bias_<layer>.dat, with batch normalisation folded in: little-endian float32,
// and the slashes of layers' names underscores. No folder gives fs.ErrNotExist.
func openFolder(folder string) (*Network, error) {
	if _, err := os.Stat(filepath.Join(folder, "weights_conv.dat")); err != nil {
		return nil, err
	}
	var params layer.Params
	for _, c := range convs(cut()) {
		name := strings.ReplaceAll(c.Name, "/", "_")
		specs := c.Params()
		weight, err := readFloats(filepath.Join(folder, "weights_"+name+".dat"), specs[0].Size())
		if err != nil {
			return nil, err
		}
		bias, err := readFloats(filepath.Join(folder, "bias_"+name+".dat"), c.Out)
		if err != nil {
			return nil, err
		}
		params = append(params, layer.Param{Spec: specs[0], Value: outLast(weight, c.Out)}, layer.Param{Spec: specs[1], Value: bias})
	}
	if err := checkPrints(params, folder); err != nil {
		return nil, err
	}
	return newNetwork(Cut, params, folder), nil
}

// readFloats reads a file of exactly count float32s.
func readFloats(path string, count int) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		// A folder with a layer missing is damaged, not absent.
		return nil, fmt.Errorf("inception: expected a readable file of %d bytes: %v; copy the folder again", 4*count, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(4*count)+1))
	if err != nil {
		return nil, fmt.Errorf("inception: %w", err)
	}
	if len(text) != 4*count {
		return nil, fmt.Errorf("inception: %s: expected %d bytes, found %d or more; copy the folder again", path, 4*count, len(text))
	}
	values := make([]float32, count)
	_, err = binary.Decode(text, binary.LittleEndian, values)
	return values, err
}

// outLast turns [out, k] to [k, out].
func outLast(values []float32, out int) []float32 {
	k := len(values) / out
	turned := make([]float32, len(values))
	for o := range out {
		for i, v := range values[o*k : (o+1)*k] {
			turned[i*out+o] = v
		}
	}
	return turned
}

// Provenance says where a stored network comes from.
type Provenance struct {
	Format  int    `json:"format"`
	Network string `json:"network"`
	Dim     int    `json:"dim"`     // features
	Archive string `json:"archive"` // SHA-256 of the archive that was fetched
	Graph   string `json:"graph"`   // SHA-256 of the graph in it
}

const (
	storedFormat  = 1
	storedNetwork = "inception-2015-12-05"
	largestStored = 1 << 28 // bytes; the whole network takes a third of it
)

// write stores the whole network as a NumPy .npz archive.
func write(w io.Writer, params layer.Params, p Provenance) error {
	p.Format, p.Network, p.Dim = storedFormat, storedNetwork, Full
	var arrays []npy.Array[float32]
	for _, param := range params {
		arrays = append(arrays, npy.Array[float32]{Name: param.Name, Shape: param.Shape, Value: param.Value})
	}
	return npy.WriteArchive(w, p, arrays)
}

// openArchive reads what write has stored and checks the parameters.
func openArchive(path string, check func(layer.Params, string) error) (*Network, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	params, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("inception: %s: %w; remove it and run `molehill data fetch inception`", path, err)
	}
	if err := check(params, path); err != nil {
		return nil, err
	}
	return newNetwork(Full, params, path), nil
}

func read(r io.Reader) (layer.Params, error) {
	var p Provenance
	archive, err := npy.ReadArchive[float32](r, largestStored, &p)
	if err != nil {
		return nil, err
	}
	if p.Format != storedFormat || p.Network != storedNetwork || p.Dim != Full {
		return nil, fmt.Errorf("expected format %d of %s with %d features, found format %d of %q with %d", storedFormat, storedNetwork, Full, p.Format, p.Network, p.Dim)
	}
	var params layer.Params
	for _, spec := range full().Params() {
		value, err := archive.Take(spec.Name, spec.Shape...)
		if err != nil {
			return nil, err
		}
		params = append(params, layer.Param{Spec: spec, Value: value})
	}
	return params, nil
}
