package table

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"molehill/pkg/npy"
)

// WriteCodes writes a table as it is in memory, with its schema: an archive of NumPy
// with an array of codes a column. The schema keeps the texts for missing values, whose
// numbers Write passes over.
func (t *Table) WriteCodes(to io.Writer) error {
	var arrays []npy.Array[Code]
	for j, codes := range t.Codes {
		arrays = append(arrays, npy.Array[Code]{Name: strconv.Itoa(j), Shape: []int{len(codes)}, Value: codes})
	}
	only := t.Schema.Only()
	only.Missing = t.Schema.Missing
	return npy.WriteArchive(to, only, arrays)
}

// ofOurOwn is no limit: what a run has made and paid for is read again, however large.
const ofOurOwn = math.MaxInt64 - 1

// ReadCodes reads what WriteCodes has written.
func ReadCodes(from io.Reader) (*Table, error) {
	t := &Table{Schema: &Schema{}}
	arrays, err := npy.ReadArchive[Code](from, ofOurOwn, t.Schema)
	if err != nil {
		return nil, fmt.Errorf("table: codes: %w", err)
	}
	if err := t.Schema.Check(); err != nil {
		return nil, fmt.Errorf("table: schema of codes: %w", err)
	}
	t.Columns = t.Schema.Modelled()
	for j, c := range t.Columns {
		codes := arrays[strconv.Itoa(j)].Value
		if j > 0 && len(codes) != t.Len() {
			return nil, fmt.Errorf("table: column %q has %d codes, expected %d as the first has", c.Name, len(codes), t.Len())
		}
		levels := c.Levels()
		for _, code := range codes {
			if int(code) > levels {
				return nil, fmt.Errorf("table: column %q has the code %d, expected up to %d", c.Name, code, levels)
			}
		}
		t.Codes = append(t.Codes, codes)
	}
	return t, nil
}
