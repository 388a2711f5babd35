package table

import (
	"math"
	"strconv"
)

// spell returns a number as people write it: names that look like numbers are to be
// the same in every format. Only what would have more than twenty digits, or begin
// with six noughts, has an exponent.
func spell(v float64, bits int) string {
	format := byte('g')
	if size := math.Abs(v); size == 0 || size >= 1e-6 && size < 1e21 {
		format = 'f'
	}
	return strconv.FormatFloat(v, format, -1, bits)
}
