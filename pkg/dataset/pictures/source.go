package pictures

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Source is images, one record each.
type Source interface {
	// Len is how many there are, which is public.
	Len() int
	// Picture writes record i, as the schema says, to dst, [Schema.Images.Dim()], and
	// returns its class, 0 without classes. The error says why it is not what the
	// record was meant to be; dst and class are defined all the same.
	Picture(dst []float32, i int) (class int, err error)
	// Name says which record that is, to their keeper.
	Name(i int) string
	// Sum is a hash of all records and their names: private, as they are.
	Sum(ctx context.Context) ([]byte, error)
	// Left says what was there and is no record, to their keeper.
	Left() []Disagreement
	io.Closer
}

// Open opens a folder, or a NumPy archive (.npz). It is an error if there are no
// images, or if an archive's arrays do not fit each other or the schema; what a
// single record holds never is one.
func Open(path string, schema *Schema) (Source, error) {
	if err := schema.Check(); err != nil {
		return nil, fmt.Errorf("pictures: schema: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("pictures: %w", err)
	}
	var s Source
	switch {
	case info.IsDir():
		s, err = openFolder(path, schema)
	case strings.EqualFold(filepath.Ext(path), ".npz"):
		s, err = openArchive(path, schema)
	default:
		err = fmt.Errorf("expected a folder of PNG and JPEG files, or a NumPy archive (.npz)")
	}
	if err != nil {
		return nil, fmt.Errorf("pictures: %s: %w", path, err)
	}
	return s, nil
}

// Disagreement says how many records were not what the schema says. It is told to
// their keeper, and to nobody else.
type Disagreement struct {
	What    string `json:"what"`
	Count   int    `json:"count"`
	Example string `json:"example"` // the first of them
	Became  string `json:"became"`  // what they count as
}

// String tells it to the keeper.
func (d Disagreement) String() string {
	return fmt.Sprintf("%s: %d; %s; the first is %q", d.What, d.Count, d.Became, d.Example)
}

// Changed is how many records are not used as they are: they count as grey images, or some
// of their values are moved.
func Changed(found []Disagreement) (count int) {
	for _, d := range found {
		if d.Became != notTaken {
			count += d.Count
		}
	}
	return count
}

const (
	asGrey    = "each counts as a grey image of the first class"
	asClamped = "values are moved to the nearer end, and what is no number to 0"
	notTaken  = "left out"
)

// Each calls visit with all records in their order, atOnce at a time: images,
// [·, Dim], and their classes, valid until it returns. It decodes on all cores.
// What does not agree with the schema is returned, and never an error.
func Each(ctx context.Context, s Source, dim, atOnce int, visit func(first int, images []float32, classes []int) error) ([]Disagreement, error) {
	images, classes, faults := make([]float32, atOnce*dim), make([]int, atOnce), make([]error, atOnce)
	found := s.Left()
	for first := 0; first < s.Len(); first += atOnce {
		count := min(atOnce, s.Len()-first)
		var workers sync.WaitGroup
		cores := runtime.GOMAXPROCS(0)
		for core := range cores {
			workers.Go(func() {
				for k := core; k < count && ctx.Err() == nil; k += cores {
					classes[k], faults[k] = s.Picture(images[k*dim:(k+1)*dim:(k+1)*dim], first+k)
				}
			})
		}
		workers.Wait()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k, fault := range faults[:count] {
			if fault != nil {
				found = note(found, fault.Error(), s.Name(first+k), became(fault))
			}
		}
		if err := visit(first, images[:count*dim], classes[:count]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func became(fault error) string {
	if fault == errRange {
		return asClamped
	}
	return asGrey
}

// note counts one more of a kind.
func note(found []Disagreement, what, example, became string) []Disagreement {
	if at := slices.IndexFunc(found, func(d Disagreement) bool { return d.What == what }); at >= 0 {
		found[at].Count++
		return found
	}
	return append(found, Disagreement{What: what, Count: 1, Example: example, Became: became})
}
