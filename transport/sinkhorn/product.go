package sinkhorn

import "sync"

// panels is a matrix [inner, width] cut into panels of panelWidth columns, one
// after the other and the last one filled up with zeros, for products that take
// a panel at a time.
type panels struct {
	inner, width int
	data         []float64 // [⌈width/panelWidth⌉, inner, panelWidth]
}

const panelWidth = 16

// newPanels takes the transposed matrix, [width, inner].
func newPanels(inner, width int, transposed []float64) *panels {
	p := &panels{inner: inner, width: width}
	p.data = buffer((width + panelWidth - 1) / panelWidth * inner * panelWidth)
	if width%panelWidth != 0 {
		clear(p.data[width/panelWidth*inner*panelWidth:])
	}
	for j := range width {
		panel := p.data[j/panelWidth*inner*panelWidth+j%panelWidth:]
		for k, v := range transposed[j*inner : (j+1)*inner] {
			panel[k*panelWidth] = v
		}
	}
	return p
}

// product writes columns first … width−1, at least, of A·B to dst, [rows,
// width], for A of shape [rows rounded up to fours, inner]. A panel serves all
// rows before the next one is taken, so that it stays in the cache.
func (p *panels) product(dst, a []float64, rows, first int) {
	size := p.inner * panelWidth
	for panel := first / panelWidth; panel*panelWidth < p.width; panel++ {
		from := panel * panelWidth
		lanes := min(panelWidth, p.width-from)
		for i := 0; i < rows; i += 4 {
			multiply(dst[i*p.width+from:], p.width, min(4, rows-i), lanes, a[i*p.inner:(i+4)*p.inner], p.data[panel*size:(panel+1)*size])
		}
	}
}

// Batches of small problems in many dimensions would spend a good part of their
// time on clearing fresh memory, so the large short-lived pieces are used again.
var buffers sync.Pool

// buffer returns n numbers of any value.
func buffer(n int) []float64 {
	if b, ok := buffers.Get().(*[]float64); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]float64, n)
}

func discard(b []float64) { buffers.Put(&b) }
