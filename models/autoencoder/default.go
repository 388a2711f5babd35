package autoencoder

import (
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// shipped holds, for each data set, the weights (NAME.npz, with how they were
// trained in its metadata.json) and the loss of every step of that training
// (NAME.loss.csv).
//
//go:embed weights
var shipped embed.FS

// Shipped lists the data sets for which Default has weights.
func Shipped() []string {
	files, _ := fs.Glob(shipped, "weights/*.npz")
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".npz")
	}
	return names
}

// Default returns the autoencoder that ships for a data set, trained on public
// images: for mnist and fashion-mnist on the public half of the partition whose
// digest is in Meta.Split, for glyphs on images that are public by construction.
// For celeba none ship: they would come from pictures of real people, whose terms
// do not allow it.
func Default(dataset string) (*Autoencoder, error) {
	file, err := shipped.Open("weights/" + dataset + ".npz")
	if err != nil {
		return nil, notShipped(dataset)
	}
	defer file.Close()
	return Load(file)
}

// Curve returns the losses of the training that Default's weights come from,
// one for each step.
func Curve(dataset string) ([]Step, error) {
	file, err := shipped.Open("weights/" + dataset + ".loss.csv")
	if err != nil {
		return nil, notShipped(dataset)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, fmt.Errorf("autoencoder: the loss curve of %s: %d lines, %v", dataset, len(lines), err)
	}
	steps := make([]Step, len(lines)-1)
	for i, line := range lines[1:] {
		loss, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			return nil, fmt.Errorf("autoencoder: the loss curve of %s: %w", dataset, err)
		}
		steps[i] = Step{Step: i + 1, Total: len(steps), Loss: loss}
	}
	return steps, nil
}

func notShipped(dataset string) error {
	return fmt.Errorf("autoencoder: no weights ship for data set %q, only for %s; train some with: molehill run autoencoder --set dataset=%s",
		dataset, strings.Join(Shipped(), ", "), dataset)
}
