package inception

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"molehill/models/inception/internal/graphdef"
	"molehill/models/layer"
	"molehill/pkg/atomicfile"
	"molehill/pkg/dataset"
	"molehill/pkg/dataset/download"
)

// archive is the archive in which TensorFlow published the network, Apache
// licence 2.0. No SHA-256 of it has been published; what is in it is checked by
// the prints of its parameters, and the SHA-256 found is kept in the
// Provenance.
var archive = download.File{
	Path: folderName + "/inception-2015-12-05.tgz",
	Size: 88_931_400,
	Mirrors: []string{
		"https://storage.googleapis.com/download.tensorflow.org/models/image/imagenet/inception-2015-12-05.tgz",
		"https://download.tensorflow.org/models/image/imagenet/inception-2015-12-05.tgz",
	},
}

// graphName is the graph's name in the archive, largestGraph a bound on its
// size in bytes.
const (
	graphName    = "classify_image_graph_def.pb"
	largestGraph = 1 << 27
)

// Fetch gets the whole network into inception-2015/ below a data folder, dir, or
// below the user's cache if dir is "": it downloads TensorFlow's archive, takes
// the parameters from the frozen graph in it, folds batch normalisation into
// them, checks them and stores them. A network that is there and right is left
// alone; a download that was stopped goes on. progress may be nil. Errors are
// *download.MirrorsError, *download.DiskError, *MismatchError, or ctx's.
func Fetch(ctx context.Context, dir string, progress func(download.Progress)) error {
	return fetch{download.Downloader{Report: progress}, archive, checkPrints}.into(ctx, dir)
}

// fetch is what Fetch does, with parts that tests replace.
type fetch struct {
	download.Downloader
	file  download.File
	check func(params layer.Params, path string) error
}

func (f fetch) into(ctx context.Context, dir string) error {
	if dir == "" {
		var err error
		if dir, err = dataset.CacheFolder(); err != nil {
			return err
		}
	}
	stored := filepath.Join(dir, folderName, archiveName)
	if _, err := openArchive(stored, f.check); err == nil {
		return nil
	}
	if err := f.Get(ctx, f.file, dir); err != nil {
		return err
	}
	packed := f.file.In(dir)
	params, provenance, err := importArchive(packed)
	if err == nil {
		err = f.check(params, packed)
	}
	if err != nil {
		// The size was right and the content is not: another try needs another file.
		return errors.Join(fmt.Errorf("inception: %s: %w", packed, err), os.Remove(packed))
	}
	if err := atomicfile.Write(stored, 0o600, func(w io.Writer) error { return write(w, params, provenance) }); err != nil {
		return &download.DiskError{Path: stored, Err: err}
	}
	return os.Remove(packed)
}

// importArchive reads the parameters of the whole network from TensorFlow's
// archive.
func importArchive(name string) (layer.Params, Provenance, error) {
	var p Provenance
	f, err := os.Open(name)
	if err != nil {
		return nil, p, err
	}
	defer f.Close()
	sum := sha256.New()
	text, err := readGraph(io.TeeReader(f, sum))
	if err != nil {
		return nil, p, err
	}
	if _, err := io.Copy(sum, f); err != nil { // what follows the graph
		return nil, p, err
	}
	p.Archive = hex.EncodeToString(sum.Sum(nil))
	graphSum := sha256.Sum256(text)
	p.Graph = hex.EncodeToString(graphSum[:])
	g, err := graphdef.Parse(text)
	if err != nil {
		return nil, p, err
	}
	params, err := fold(g)
	return params, p, err
}

// readGraph returns the file of the graph from a .tar.gz archive.
func readGraph(r io.Reader) ([]byte, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("expected a .tar.gz archive: %w", err)
	}
	files := tar.NewReader(unpacked)
	for {
		header, err := files.Next()
		if err == io.EOF {
			return nil, fmt.Errorf("expected %s in the archive, found no such file", graphName)
		}
		if err != nil {
			return nil, fmt.Errorf("expected a .tar.gz archive: %w", err)
		}
		if path.Base(header.Name) != graphName || header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(files, largestGraph+1))
		if err == nil && len(text) > largestGraph {
			err = fmt.Errorf("%s has more than %d bytes", graphName, largestGraph)
		}
		return text, err
	}
}
