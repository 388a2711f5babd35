package kernel

import "sync"

// Panels is a matrix [inner, width] cut into panels of PanelWidth columns, one
// after the other and the last one filled up with zeros, for products that take
// a panel at a time.
type Panels struct {
	Inner, Width int
	data         []float64 // [⌈width/PanelWidth⌉, inner, PanelWidth]
}

// PanelWidth is the number of columns of a panel.
const PanelWidth = 16

// NewPanels takes the transposed matrix, [width, inner].
func NewPanels(inner, width int, transposed []float64) *Panels {
	p := &Panels{Inner: inner, Width: width}
	p.data = Buffer((width + PanelWidth - 1) / PanelWidth * inner * PanelWidth)
	if width%PanelWidth != 0 {
		clear(p.data[width/PanelWidth*inner*PanelWidth:])
	}
	for j := range width {
		panel := p.data[j/PanelWidth*inner*PanelWidth+j%PanelWidth:]
		for k, v := range transposed[j*inner : (j+1)*inner] {
			panel[k*PanelWidth] = v
		}
	}
	return p
}

// Product writes columns first … width−1, at least, of A·B to dst, [rows,
// width], for A of shape [rows rounded up to fours, inner]. A panel serves all
// rows before the next one is taken, so that it stays in the cache.
func (p *Panels) Product(dst, a []float64, rows, first int) {
	size := p.Inner * PanelWidth
	for panel := first / PanelWidth; panel*PanelWidth < p.Width; panel++ {
		from := panel * PanelWidth
		lanes := min(PanelWidth, p.Width-from)
		for i := 0; i < rows; i += 4 {
			Multiply(dst[i*p.Width+from:], p.Width, min(4, rows-i), lanes, a[i*p.Inner:(i+4)*p.Inner], p.data[panel*size:(panel+1)*size])
		}
	}
}

// Batches of small problems in many dimensions would spend a good part of their
// time on clearing fresh memory, so the large short-lived pieces are used again.
var buffers sync.Pool

// Buffer returns n numbers of any value.
func Buffer(n int) []float64 {
	if b, ok := buffers.Get().(*[]float64); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]float64, n)
}

// Discard gives b back: nobody may use it any more.
func Discard(b []float64) { buffers.Put(&b) }

// Discard gives the memory of the panels back.
func (p *Panels) Discard() {
	Discard(p.data)
	p.data = nil
}
