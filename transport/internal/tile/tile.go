// Package tile multiplies many points with a few directions, and adds along the
// directions what comes back, fast: points lie in tiles whose columns are read
// as vectors, and everything is padded so that kernels have no remainders.
package tile

import "molehill/transport"

// Width is how many points a tile holds, and Height how many rows a kernel
// computes at a time.
const (
	Width  = 32
	Height = 8
)

// Points are n points of R^dim in tiles: coordinate c of point i stands at
// Data[(i/Width·rows + c)·Width + i%Width], where rows is dim up to the next
// multiple of Height. What is padded is 0.
type Points struct {
	N, Dim int
	Data   []float32
}

// New returns n points at the origin of R^dim.
func New(n, dim int) Points {
	return Points{n, dim, make([]float32, up(n, Width)*up(dim, Height))}
}

// Tiles is the number of tiles.
func (p Points) Tiles() int { return up(p.N, Width) / Width }

// Stride is the length of a row of a table of projections: n, padded.
func (p Points) Stride() int { return up(p.N, Width) }

// Rows is the number of rows in a table for count directions: count, padded.
func Rows(count int) int { return up(count, Height) }

func up(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// Each calls work for every tile, on so many goroutines.
func (p Points) Each(workers int, work func(t int)) {
	const atOnce = 16 // enough to occupy a core
	transport.InParallelOn(workers, (p.Tiles()+atOnce-1)/atOnce, func(chunk int) {
		for t := chunk * atOnce; t < min((chunk+1)*atOnce, p.Tiles()); t++ {
			work(t)
		}
	})
}

func (p Points) tile(t int) []float32 {
	size := up(p.Dim, Height) * Width
	return p.Data[t*size : (t+1)*size]
}

// Pack fills tile t from data, [n, dim], less center, [dim].
func (p Points) Pack(t int, data, center []float32) {
	tile := p.tile(t)
	for i := t * Width; i < min(p.N, (t+1)*Width); i++ {
		for c, v := range data[i*p.Dim : (i+1)*p.Dim] {
			tile[c*Width+i%Width] = v - center[c]
		}
	}
}

// Unpack writes factor times tile t to data, [n, dim].
func (p Points) Unpack(t int, data []float32, factor float32) {
	tile := p.tile(t)
	for i := t * Width; i < min(p.N, (t+1)*Width); i++ {
		row := data[i*p.Dim : (i+1)*p.Dim]
		for c := range row {
			row[c] = factor * tile[c*Width+i%Width]
		}
	}
}

// Panels are a few directions, packed for one of the products.
type Panels struct {
	inner int
	data  []float32 // [panels][inner][Height]
}

// ForProject packs directions u, [count, dim], for Project.
func ForProject(u []float32, count, dim int) Panels {
	return pack(count, dim, func(row, k int) float32 { return u[row*dim+k] })
}

// ForAdd packs directions u, [count, dim], for Add.
func ForAdd(u []float32, count, dim int) Panels {
	return pack(dim, count, func(row, k int) float32 { return u[k*dim+row] })
}

func pack(rows, inner int, at func(row, k int) float32) Panels {
	p := Panels{inner, make([]float32, up(rows, Height)*inner)}
	for row := range rows {
		for k := range inner {
			p.data[row/Height*inner*Height+k*Height+row%Height] = at(row, k)
		}
	}
	return p
}

// Project writes the projections of tile t to a table, [Rows(count), Stride]:
// table[j·Stride+i] = ⟨θ_j, x_i⟩.
func (p Points) Project(t int, u Panels, table []float32) {
	stride := p.Stride()
	for from, row := 0, 0; from < len(u.data); from, row = from+u.inner*Height, row+Height {
		multiply(table[row*stride+t*Width:], stride, u.data[from:from+u.inner*Height], p.tile(t), Width, false)
	}
}

// Add adds Σ_j table[j·Stride+i]·θ_j to the points i of tile t.
func (p Points) Add(t int, u Panels, table []float32) {
	tile := p.tile(t)
	for from, row := 0, 0; from < len(u.data); from, row = from+u.inner*Height, row+Height {
		multiply(tile[row*Width:], Width, u.data[from:from+u.inner*Height], table[t*Width:], p.Stride(), true)
	}
}

// multiply computes, for Height rows r and Width columns i,
//
//	dst[r·dstStride + i] (+)= Σ_k panel[k·Height + r]·b[k·bStride + i]
//
// A processor with vectors has one of its own, whose sums may round differently.
var multiply = multiplyPlain

func multiplyPlain(dst []float32, dstStride int, panel, b []float32, bStride int, add bool) {
	for r := range Height {
		var sums [Width]float32
		for k := 0; k*Height < len(panel); k++ {
			factor, row := panel[k*Height+r], (*[Width]float32)(b[k*bStride:])
			for i, v := range row {
				sums[i] += factor * v
			}
		}
		to := (*[Width]float32)(dst[r*dstStride:])
		if add {
			for i, v := range to {
				sums[i] += v
			}
		}
		*to = sums
	}
}
