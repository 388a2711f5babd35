// Package images makes synthetic images of people's own: private images go in
// through private releases, and a folder of the same layout comes out.
//
// The schema fixes everything that turns a file into numbers, and is public; so is
// the number of files. Each image becomes a point of a sphere by a code that was
// fixed before anything looked at the images (code). A method (synth.Method) makes
// other points of what it releases of these: of how often each class occurs and of the
// means of spherical harmonics over it, once (harmonic.Labelled), to which particles
// flow; or of the noisy gradients that a generator of points learns by (package
// training). They are decoded.
package images

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"molehill/models"
	_ "molehill/models/autoencoder" // registers those that ship
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/experiment/synth/training"
	"molehill/transport/harmonic"
)

func init() { experiment.Registry.Register(Experiment{}) }

// Config are the settings of synthetic images.
type Config struct {
	synth.Terms
	Images int `json:"images"` // to be made; 0 for as many as the private ones

	// Code is what images are seen through: Auto, Cosines, Autoencoder, or a
	// registered model.
	Code         string `json:"code"`
	Coefficients int    `json:"coefficients"` // of the cosines

	Steps int `json:"steps"` // of the flow, or of the training, at most; 0 for as many as the method takes

	// Degree is the highest of the harmonics whose means the harmonic sketch releases; 0 for
	// the choice that the public numbers suggest.
	Degree   int     `json:"degree"`
	StepSize float64 `json:"step_size"` // of the flow, 1 for the whole way

	training.Settings         // of DP-Sinkhorn; points are up to 2 apart
	LabelScale        float64 `json:"label_scale"` // α_c: two classes are 2α_c² further apart in its cost than one
}

// The codes that are no names of models.
const (
	Auto        = "auto"        // the model of what the schema says that the images are like, else the cosines
	Cosines     = "dct"         // the lowest frequencies of the cosine transform
	Autoencoder = "autoencoder" // the shipped model of what the schema says that the images are like
)

// reads are the settings that not all methods read.
var reads = map[string][]string{
	Harmonics: {"degree", "step_size"},
	Sinkhorn:  append([]string{"label_scale"}, training.Names...),
}

// settings are those of every preset: images are paid for once, and the best there is
// takes a minute.
func settings() *Config {
	return &Config{Terms: synth.Terms{Epsilon: 1, Delta: 1e-6, Method: Methods[0]}, Code: Auto, Coefficients: 48, StepSize: 0.75,
		Settings:   training.Settings{Batch: 16, Generated: 8, Entropy: 0.1, Bound: 0.01, LearningRate: 3e-3, Latent: 8, Width: 128},
		LabelScale: 1.5}
}

// mostImages and mostCoefficients keep slips of the finger out of memory; a basis of
// harmonics of degree 2 has room for so many coefficients.
const (
	mostImages       = 10_000_000
	mostCoefficients = 75
	mostNumbers      = 1 << 26 // of a release
)

// data are images.
var data = synth.Data[*pictures.Schema]{Methods: Methods, Flags: "--data FOLDER --schema FOLDER.schema.json", ReadSchema: pictures.ReadSchema, Sum: sum}

func sum(ctx context.Context, path string, schema *pictures.Schema) ([]byte, error) {
	source, err := pictures.Open(path, schema)
	if err != nil {
		return nil, err
	}
	records, err := source.Sum(ctx)
	return records, errors.Join(err, source.Close())
}

// Check implements experiment.Config.
func (c *Config) Check() error {
	return data.Check(&c.Terms, cmp.Or(
		experiment.Within("images", c.Images, 0, mostImages),
		experiment.Within("coefficients", c.Coefficients, 2, mostCoefficients),
		experiment.Within("degree", c.Degree, 0, 12),
		experiment.Within("steps", c.Steps, 0, 10_000_000),
		experiment.Positive("step_size", c.StepSize, 2),
		c.Settings.Check(),
		experiment.Within("label_scale", c.LabelScale, 0, 1000),
	), c.suits)
}

// suits returns an error unless there is a code for images of a schema, and its points do
// not have too many harmonics.
func (c *Config) suits(schema *pictures.Schema) error {
	code, err := c.code(schema)
	if err != nil {
		return err
	}
	if degree := max(1, c.Degree); c.Method == Harmonics && harmonic.Count(code.dim(), degree) > harmonic.MaxSize {
		return fmt.Errorf("degree is %d; points of %d dimensions have %.0f harmonics of it, and at most %d can be handled", degree, code.dim(), harmonic.Count(code.dim(), degree), harmonic.MaxSize)
	}
	return nil
}

// code is what the settings say, for images of a schema.
func (c *Config) code(schema *pictures.Schema) (code, error) {
	name, like := c.Code, schema.Images.Like
	switch c.Code {
	case Auto:
		if name = Cosines; like != "" {
			name = shipped(like)
		}
	case Autoencoder:
		if like == "" {
			return nil, fmt.Errorf("code is %q, and the schema does not say what the images are like; set \"like\" in it to one of %s, or take %q", c.Code, strings.Join(likes(), ", "), Cosines)
		}
		name = shipped(like)
	}
	if name == Cosines {
		return newCosines(schema.Images.Shape, c.Coefficients), nil
	}
	model, err := models.Checked(name)
	if err != nil {
		if like != "" && name == shipped(like) {
			return nil, fmt.Errorf("the schema says that the images are like %q, for which no model ships; expected one of %s, or none", like, strings.Join(likes(), ", "))
		}
		return nil, err
	}
	return newModelled(model, schema.Images.Shape)
}

const ofAutoencoders = "autoencoder/"

func shipped(like string) string { return ofAutoencoders + like }

// likes are the data sets for which a model ships.
func likes() (names []string) {
	for _, m := range models.Registry.All() {
		if name, ok := strings.CutPrefix(m.Describe().Name, ofAutoencoders); ok {
			names = append(names, name)
		}
	}
	return names
}

// CheckUnread implements experiment.Sparing.
func (c *Config) CheckUnread() error {
	return experiment.CheckRead(c, settings(), c.Method, reads)
}

// Pin implements experiment.Pinner.
func (c *Config) Pin() error { return data.Pin(&c.Terms) }

//go:embed config.go
var words embed.FS

// Meanings implements plugin.Explained.
func (*Config) Meanings() map[string]string { return synth.Meanings(words) }
