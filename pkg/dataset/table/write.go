package table

import (
	"archive/zip"
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"molehill/pkg/npy"
)

// CheckEnding returns an error unless Write can write a table of the schema to a
// file of that name. Archives of NumPy have numbers only.
func (s *Schema) CheckEnding(path string) error {
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".csv", ".tsv":
		if columns := s.Modelled(); len(columns) == 1 {
			return fmt.Errorf("table: column %q is the only one: %w", columns[0].Name, errSingle)
		}
		return nil
	case ".parquet", ".pq":
		return nil
	case ".npz":
		for _, c := range s.Modelled() {
			for _, v := range c.Values {
				number, err := strconv.ParseFloat(v, 64)
				if err != nil {
					return fmt.Errorf("table: column %q has names such as %q, which an .npz archive of numbers cannot hold; write .csv or .parquet", c.Name, v)
				}
				if back := spell(number, 64); back != v || math.IsNaN(number) {
					return fmt.Errorf("table: column %q has names such as %q, which would be %s in an .npz archive of numbers; write .csv or .parquet", c.Name, v, back)
				}
			}
		}
		return nil
	default:
		return fmt.Errorf("table: %s ends in %q; expected .csv, .tsv, .parquet or .npz", path, ending)
	}
}

// Write writes a table in the format of the ending of a file's name, with the
// schema's names and types. Where a code stands for a bin of numbers or days, one is
// drawn from it: with one seed the same in every format. Excluded columns are left out.
func (t *Table) Write(to io.Writer, ending string, seed uint64) error {
	const values = 0x76616c756573 // no stream of those that a table is made with
	columns := slices.Clone(t.Columns)
	for j, c := range columns {
		columns[j].absent = t.Schema.absentNumbers(c)
	}
	t = &Table{t.Schema, columns, t.Codes}
	draw := make([]*rand.Rand, len(t.Columns))
	for j := range draw {
		draw[j] = rand.New(rand.NewPCG(seed, values^uint64(j)<<48))
	}
	switch strings.ToLower(ending) {
	case ".parquet", ".pq":
		return t.writeParquet(to, draw)
	case ".npz":
		return t.writeNPZ(to, draw)
	case ".tsv":
		return t.writeCSV(to, '\t', draw)
	}
	return t.writeCSV(to, t.Schema.comma(), draw)
}

func (t *Table) writeCSV(to io.Writer, comma rune, draw []*rand.Rand) error {
	buffered := bufio.NewWriterSize(to, 1<<20)
	w := csv.NewWriter(buffered)
	w.Comma = comma
	row := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		row[j] = c.Name
	}
	if err := w.Write(row); err != nil {
		return err
	}
	for i := range t.Len() {
		for j, c := range t.Columns {
			row[j] = c.text(t.Codes[j][i], draw[j])
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(w.Error(), buffered.Flush())
}

// writtenAtOnce is how many rows are handed to a writer together.
const writtenAtOnce = 1024

func (t *Table) writeParquet(to io.Writer, draw []*rand.Rand) (err error) {
	defer damaged(&err)
	w := parquet.NewGenericWriter[any](to, parquetSchema(t.Schema.Name, t.Columns), parquet.Compression(&parquet.Snappy))
	rows := make([]parquet.Row, 0, writtenAtOnce)
	for i := range t.Len() {
		row := make(parquet.Row, len(t.Columns))
		for j, c := range t.Columns {
			row[j] = c.parquetValue(t.Codes[j][i], j, draw[j])
		}
		if rows = append(rows, row); len(rows) == writtenAtOnce || i+1 == t.Len() {
			if _, err := w.WriteRows(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return w.Close()
}

func (c Column) parquetValue(code Code, at int, rng *rand.Rand) parquet.Value {
	switch {
	case code == 0:
		return parquet.NullValue().Level(0, 0, at)
	case c.Values != nil:
		return parquet.ByteArrayValue([]byte(c.Values[code-1])).Level(0, 1, at)
	case c.Kind == Date:
		return parquet.Int32Value(int32(c.draw(code, rng))).Level(0, 1, at)
	case c.Decimals == 0:
		return parquet.Int64Value(int64(c.draw(code, rng))).Level(0, 1, at)
	}
	return parquet.DoubleValue(c.draw(code, rng)).Level(0, 1, at)
}

// writeNPZ writes an array of [n] for each column: numbers as they are, names as
// the numbers that they spell (CheckEnding), days as their number from 1970; a missing
// value is NaN.
func (t *Table) writeNPZ(to io.Writer, draw []*rand.Rand) error {
	archive := zip.NewWriter(to)
	values := make([]float64, t.Len())
	for j, c := range t.Columns {
		for i, code := range t.Codes[j] {
			values[i] = c.number(code, draw[j])
		}
		entry, err := archive.Create(c.Name + ".npy")
		if err != nil {
			return err
		}
		if err := npy.WriteOf(entry, []int{len(values)}, values); err != nil {
			return err
		}
	}
	return archive.Close()
}
