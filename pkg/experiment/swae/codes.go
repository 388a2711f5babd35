package swae

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"molehill/pkg/run"
	"molehill/privacy/noise"
	"molehill/viz"
)

// Names of artefacts that a report draws again.
const (
	CodesName          = "codes"
	InterpolationsName = "interpolations"
	classesFile        = "classes.json"
	drawnFile          = "drawn.npy"
)

// drawn is how many codes a picture shows, which more would cover.
const drawn = 700

// Codes are what a finished run has left of its codes: those of the first held-out
// images, with their classes.
type Codes struct {
	Dim     int
	Table   []float32 // [n, Dim+1], the class behind the code
	Classes []string  // names of the classes
	Seed    uint64    // of the prior to look at
	Drawn   []float32 // [m, Dim], what images are generated from; nil for the prior
}

// CodesOf reads those of a finished run. A run that has no names of its classes has their
// numbers.
func CodesOf(r *run.Run) (c Codes, err error) {
	width := 0
	if c.Table, width, err = r.Table(CodesName + ".npy"); err != nil {
		return c, err
	}
	c.Dim, c.Seed = width-1, r.Spec.Seed
	if c.Drawn, width, err = r.Table(drawnFile); err == nil && width != c.Dim {
		err = fmt.Errorf("swae: %s of %s has %d columns beside codes of %d numbers", drawnFile, r.ID, width, c.Dim)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := r.ReadJSON(classesFile, &c.Classes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for i := 0; i < len(c.Table); i += c.Dim + 1 {
		class := float64(c.Table[i+c.Dim])
		if !(class >= 0 && class < mostClasses) || class != math.Trunc(class) {
			return c, fmt.Errorf("swae: %s.npy of %s: row %d is of class %v; expected a number from 0", CodesName, r.ID, i/(c.Dim+1), class)
		}
		for len(c.Classes) <= int(class) {
			c.Classes = append(c.Classes, strconv.Itoa(len(c.Classes)))
		}
	}
	return c, nil
}

// mostClasses bounds what a damaged file may ask for.
const mostClasses = 1 << 16

// Figure draws codes over points that images are generated from, two coordinates at a time,
// in the colour and the shape of their class (004, Figures 3 and 9). It has nothing to draw of
// codes with one coordinate, ok is false then.
func (c Codes) Figure() (f viz.Panels, ok bool) {
	rows := min(len(c.Table)/(c.Dim+1), drawn)
	below, what := c.Drawn, "what images are generated from"
	if below == nil {
		below, what = prior(rows, c.Dim, noise.Seeded(c.Seed).Stream("prior to look at", 0)).Data, "the prior"
	}
	below = below[:min(len(below), drawn*c.Dim)]
	f = viz.Panels{Title: "Codes of held-out images by class, over " + what + " (grey)", Columns: 3}
	for k := 0; k+1 < c.Dim; k += 2 {
		p := viz.Classes{Names: c.Classes, Below: plane(below, c.Dim, k)}
		for i := range rows {
			row := c.Table[i*(c.Dim+1) : (i+1)*(c.Dim+1)]
			p.X, p.Class = append(p.X, row[k], row[k+1]), append(p.Class, int(row[c.Dim]))
		}
		f.Cells, f.Above = append(f.Cells, p), append(f.Above, fmt.Sprintf("coordinates %d and %d", k+1, k+2))
	}
	return f, len(f.Cells) > 0
}

// plane are coordinates k and k+1 of points.
func plane(x []float32, dim, k int) (both []float32) {
	for i := 0; i < len(x); i += dim {
		both = append(both, x[i+k], x[i+k+1])
	}
	return both
}

// Interpolations draws, of a run, images along the lines between codes (004, Figures 7
// and 11).
func Interpolations(r *run.Run) (viz.Images, error) {
	x, width, err := r.Table(InterpolationsName + ".npy")
	if err != nil {
		return viz.Images{}, err
	}
	if width != pixels {
		return viz.Images{}, fmt.Errorf("swae: %s.npy of %s has images of %d pixels; expected %d", InterpolationsName, r.ID, width, pixels)
	}
	return lines(x), nil
}

// lines sets interpolations out, three in a row with a white image between.
func lines(x []float32) viz.Images {
	const abreast = 3
	f := viz.Images{Height: side, Width: side, Cols: abreast*(between+1) - 1, Title: "From the first held-out image of one class to that of another", Scale: 1,
		Caption: fmt.Sprintf("%d pairs in a row, %d images each: a code, %d on the way, another.", abreast, between, between-2)}
	white := slices.Repeat([]float32{1}, pixels)
	i := 0
	for line := range slices.Chunk(x, between*pixels) {
		if i%abreast > 0 {
			f.X = append(f.X, white...)
		}
		f.X = append(f.X, line...)
		i++
	}
	return f
}
