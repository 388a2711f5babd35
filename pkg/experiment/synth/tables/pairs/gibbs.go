package pairs

import (
	"math"
	"math/rand/v2"

	"molehill/transport"
)

// sweep draws each column of rows anew, given the others.
func (m *Model) sweep(rows [][]uint16, number int) {
	n := len(rows[0])
	for _, j := range rand.New(rand.NewPCG(m.seed, uint64(number)<<1|1)).Perm(len(rows)) {
		size := m.target.Layout.Columns[j].Size
		transport.Parallel((n+chunk-1)/chunk, func() []float32 { return make([]float32, size) }, func(logits []float32, part int) {
			rng := rand.New(rand.NewPCG(m.seed^uint64(number)<<32^uint64(j)<<20, uint64(part)<<1))
			for i := part * chunk; i < min(n, (part+1)*chunk); i++ {
				m.logits(logits, rows, i, j)
				rows[j][i] = draw(logits, rng)
			}
		})
	}
}

// logits writes the log of the law of column j of row i, given the others, up to a
// constant.
func (m *Model) logits(logits []float32, rows [][]uint16, i, j int) {
	copy(logits, m.unary[j])
	size := len(logits)
	for k, theta := range m.theta[j] {
		if k != j {
			g := int(rows[k][i]) * size
			add(logits, theta[g:g+size])
		}
	}
}

func add(to, values []float32) {
	for i, v := range values {
		to[i] += v
	}
}

// draw draws by logits, which it overwrites.
func draw(logits []float32, rng *rand.Rand) uint16 {
	most := logits[0]
	for _, v := range logits {
		most = max(most, v)
	}
	var sum float32
	for i, v := range logits {
		if v -= most; v > -20 {
			sum += exp(v)
		}
		logits[i] = sum
	}
	u := rng.Float32() * sum
	low, high := 0, len(logits)-1
	for low < high {
		if middle := (low + high) / 2; logits[middle] > u {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return uint16(low)
}

// exp is eˣ to 10⁻⁴ for x in [−20, 0]: 2 to the whole part by the exponent's bits, and
// to the rest by the Taylor series around its middle.
func exp(x float32) float32 {
	y := x * math.Log2E
	whole := float32(int32(y - 1)) // rounds towards zero, so down for negative y
	t := (y - whole - 0.5) * math.Ln2
	power := 1 + t*(1+t*(1.0/2+t*(1.0/6+t*(1.0/24))))
	return math.Sqrt2 * power * math.Float32frombits(uint32(int32(whole)+127)<<23)
}
