package tables

import (
	"context"
	"errors"
	"io"

	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
)

// codesFile is the artefact that Made reads.
const codesFile = "codes.npz"

// table is a synthetic one of these codes.
func (k known) table(codes [][]table.Code) *table.Table {
	return &table.Table{Schema: k.schema, Columns: k.schema.Modelled(), Codes: codes}
}

// Leave leaves a synthetic table as codes, and as a file for people. The format is none of
// a run's settings, as another run is another release.
func (k known) Leave(_ context.Context, r *run.Run, codes [][]table.Code) error {
	if err := r.WriteFile(synth.SchemaFile, k.schema.Only().Encode); err != nil {
		return err
	}
	t := k.table(codes)
	if err := r.WriteFile(codesFile, t.WriteCodes); err != nil {
		return err
	}
	name := "synthetic.csv"
	if t.Schema.CheckEnding(name) != nil { // of a single column
		name = "synthetic.parquet"
	}
	return r.WriteFile(name, func(w io.Writer) error { return t.Write(w, name[len("synthetic"):], r.Spec.Seed) })
}

// Made returns the synthetic table of a finished run.
func Made(r *run.Run) (*table.Table, error) {
	file, err := r.Artefact(codesFile)
	if err != nil {
		return nil, err
	}
	t, err := table.ReadCodes(file)
	return t, errors.Join(err, file.Close())
}

// Export writes the synthetic table of a finished run in the format of an ending, with
// the same values in each. It costs nothing.
func Export(r *run.Run, to io.Writer, ending string) error {
	t, err := Made(r)
	if err != nil {
		return err
	}
	if err := t.Schema.CheckEnding("synthetic" + ending); err != nil {
		return err
	}
	return t.Write(to, ending, r.Spec.Seed)
}
