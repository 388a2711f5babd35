package transport

import "math"

// Sorter sorts float32 keys in linear time (least significant digit radix sort,
// three passes over digits of 11, 11 and 10 bits) and keeps its scratch memory
// between calls: 8 bytes a key for Sort, 16 for Argsort. A Sorter serves one
// goroutine at a time; the zero value is ready.
//
// NaNs sort to the ends by their sign bit; callers that cannot have them check
// with Points.Check first.
type Sorter struct {
	keys, spare   []uint32
	order, shadow []int32
	counts        [3][1 << 11]int32
}

const (
	digitBits = 11
	digitMask = 1<<digitBits - 1
)

// ordered maps a float's bits to an unsigned integer of the same order.
func ordered(v float32) uint32 {
	bits := math.Float32bits(v)
	return bits ^ (uint32(int32(bits)>>31) | 0x80000000)
}

func unordered(key uint32) float32 {
	return math.Float32frombits(key ^ (^uint32(int32(key)>>31) | 0x80000000))
}

// Sort sorts values in ascending order, in place.
func (s *Sorter) Sort(values []float32) {
	s.load(values)
	for pass := range s.counts {
		s.scatter(pass)
	}
	for i, key := range s.keys {
		values[i] = unordered(key)
	}
}

// Argsort returns the order of values: values[order[0]] ≤ values[order[1]] ≤ …,
// equal values in the order of their indices. The result is valid until the
// Sorter's next call.
func (s *Sorter) Argsort(values []float32) []int32 {
	s.load(values)
	s.order = resized(s.order, len(values))
	s.shadow = resized(s.shadow, len(values))
	for i := range s.order {
		s.order[i] = int32(i)
	}
	for pass := range s.counts {
		s.scatterOrder(pass)
	}
	return s.order
}

// load fills the keys and counts the digits of all passes in one sweep.
func (s *Sorter) load(values []float32) {
	s.keys = resized(s.keys, len(values))
	s.spare = resized(s.spare, len(values))
	s.counts = [3][1 << digitBits]int32{}
	for i, v := range values {
		key := ordered(v)
		s.keys[i] = key
		s.counts[0][key&digitMask]++
		s.counts[1][key>>digitBits&digitMask]++
		s.counts[2][key>>(2*digitBits)]++
	}
	for pass := range s.counts {
		var before int32
		for digit, count := range s.counts[pass] {
			s.counts[pass][digit] = before
			before += count
		}
	}
}

func (s *Sorter) scatter(pass int) {
	offsets, shift := &s.counts[pass], uint(pass*digitBits)
	for _, key := range s.keys {
		digit := key >> shift & digitMask
		s.spare[offsets[digit]] = key
		offsets[digit]++
	}
	s.keys, s.spare = s.spare, s.keys
}

func (s *Sorter) scatterOrder(pass int) {
	offsets, shift := &s.counts[pass], uint(pass*digitBits)
	for i, key := range s.keys {
		digit := key >> shift & digitMask
		to := offsets[digit]
		offsets[digit]++
		s.spare[to] = key
		s.shadow[to] = s.order[i]
	}
	s.keys, s.spare = s.spare, s.keys
	s.order, s.shadow = s.shadow, s.order
}

func resized[T any](buffer []T, n int) []T {
	if cap(buffer) < n {
		return make([]T, n)
	}
	return buffer[:n]
}
