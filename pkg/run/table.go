package run

import (
	"fmt"
	"io"

	"github.com/sbinet/npyio"
	"gonum.org/v1/gonum/mat"
)

// WriteTable writes an artefact of numbers, [n, columns], as a NumPy .npy file.
func (r *Run) WriteTable(name string, data []float32, columns int) error {
	if columns < 1 || len(data) == 0 || len(data)%columns != 0 {
		return fmt.Errorf("run: %d numbers are no table of %d columns", len(data), columns)
	}
	table := mat.NewDense(len(data)/columns, columns, nil)
	for i, v := range data {
		table.Set(i/columns, i%columns, float64(v))
	}
	return r.WriteFile(name, func(w io.Writer) error { return npyio.Write(w, table) })
}

// Table reads what WriteTable wrote.
func (r *Run) Table(name string) (data []float32, columns int, err error) {
	f, err := r.Artefact(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var table mat.Dense
	if err := npyio.Read(f, &table); err != nil {
		return nil, 0, fmt.Errorf("run: %s of %s is no table of numbers: %w", name, r.ID, err)
	}
	for _, v := range table.RawMatrix().Data {
		data = append(data, float32(v))
	}
	_, columns = table.Dims()
	return data, columns, nil
}
