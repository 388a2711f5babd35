package synth

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy"
)

// Terms are the settings that every synthetic release has: of which data it is, what it
// promises, and by which method.
type Terms struct {
	Files
	Inputs  string          `json:"inputs"`  // what tells the content of both from others; see Pin
	Epsilon privacy.Epsilon `json:"epsilon"` // ε to be proved; inf for none
	Delta   float64         `json:"delta"`   // δ, below 1/n
	Method  string          `json:"method"`  // one of Methods
}

// Budget is what is to be proved.
func (t *Terms) Budget() privacy.Budget {
	return privacy.Budget{Epsilon: float64(t.Epsilon), Delta: t.Delta}
}

// Once is the plan of a single release of all of n records, of so many numbers.
func (t *Terms) Once(s privacy.Sensitivity, n, size int) (privacy.Plan, error) {
	return privacy.Calibrate(privacy.Plan{Sensitivity: s, Records: n, Steps: 1, Budget: t.Budget(), Coordinates: size})
}

//go:embed files.go terms.go
var words embed.FS

// Meanings are those of the settings of synthetic data: of Terms, of trainings, and of own,
// the sources of a kind of data.
func Meanings(own embed.FS) map[string]string {
	all := training.Meanings()
	maps.Copy(all, plugin.Meanings(words))
	maps.Copy(all, plugin.Meanings(own))
	return all
}

// Schema is what is public of private data (table.Schema, pictures.Schema).
type Schema interface {
	// Confirmed returns an error unless somebody has said that all of it is public.
	Confirmed() error
	// Sum is a hash of what it says, however its file is written.
	Sum() ([]byte, error)
}

// Data is a kind of private data, as far as settings are checked and a run makes sure that
// the data are those that it was asked for with.
type Data[S Schema] struct {
	Methods    []string                                                         // by which others are made
	Flags      string                                                           // of `molehill synth`, that name such data and their schema
	ReadSchema func(path string) (S, error)                                     // reads the file of a schema
	Sum        func(ctx context.Context, path string, schema S) ([]byte, error) // hashes all records
}

// Check checks settings: those of all releases, then settings, which is what is wrong with
// the kind's own, then what the schema has to be for them, nil for whatever it is. It reads
// the schema: one that nobody has confirmed ends here, before anything looks at a record.
func (d Data[S]) Check(t *Terms, settings error, suits func(S) error) (err error) {
	if t.Inputs != "" { // in the process that computes, whose errors the run keeps
		defer func() { err = t.Unnamed(err) }()
	}
	if err := t.Recall(t.Inputs); err != nil {
		return err
	}
	if t.Data == "" || t.Schema == "" {
		return fmt.Errorf("data and schema name no files; give both, as with `molehill synth %s`", d.Flags)
	}
	if err := t.Budget().Check(); err != nil {
		return err
	}
	if !slices.Contains(d.Methods, t.Method) {
		return &plugin.UnknownError{Kind: "method", Name: t.Method, Nearest: d.Methods}
	}
	if settings != nil {
		return settings
	}
	schema, err := d.ReadSchema(t.Schema)
	if err == nil {
		err = schema.Confirmed()
	}
	if err != nil || suits == nil {
		return Settled(t.Inputs, err)
	}
	return suits(schema)
}

// Pin fixes the data (experiment.Pinner): other records or another schema are another run,
// and the schema counts for what it says (Inputs).
func (d Data[S]) Pin(t *Terms) (err error) {
	if t.Inputs, err = d.Inputs(context.Background(), t); err != nil {
		return err
	}
	return t.Remember(t.Inputs)
}

// Inputs tells the content of data and schema from any other (Hash).
func (d Data[S]) Inputs(ctx context.Context, t *Terms) (string, error) {
	schema, err := d.ReadSchema(t.Schema)
	if err != nil {
		return "", Settled(t.Inputs, err)
	}
	records, err := d.Sum(ctx, t.Data, schema)
	if err != nil {
		return "", err
	}
	said, err := schema.Sum()
	if err != nil {
		return "", err
	}
	return Hash(records, said)
}

// Open returns the schema of a run's data, after it has seen that both are those that the
// run was asked for with.
func (d Data[S]) Open(ctx context.Context, t *Terms) (schema S, err error) {
	inputs, err := d.Inputs(ctx, t)
	if err != nil {
		return schema, err
	}
	if inputs != t.Inputs {
		return schema, errors.New("the data or their schema has changed since this run was asked for; put them back as they were to go on with it, or ask again, for another run")
	}
	if schema, err = d.ReadSchema(t.Schema); err != nil {
		return schema, err
	}
	return schema, schema.Confirmed()
}

// Left returns the schema that a run has left among its artefacts.
func (d Data[S]) Left(r *run.Run) (S, error) {
	return d.ReadSchema(filepath.Join(r.Dir, "artefacts", SchemaFile))
}
