package tables

import (
	"errors"
	"io"

	"molehill/pkg/dataset/table"
	"molehill/pkg/run"
)

// codesFile is the artefact that Made reads.
const codesFile = "codes.npz"

// leave leaves a synthetic table among a run's artefacts: as codes, and as a file for
// people. The format is none of a run's settings, as another run is another release.
func leave(r *run.Run, t *table.Table) error {
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
