package sheet

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"io"
	"slices"
)

// budget is the size in bytes that a chart's PNG should keep to, since notebooks are committed with
// their outputs.
const budget = 150_000

// encode writes img as a paletted PNG. Photographs get 256 colours and charts 64, which the eye cannot tell
// from all, or 16 and four times the effort where the file would pass the budget.
func encode(w io.Writer, img *image.RGBA, photo bool) error {
	count := countColours(img)
	colours := 64
	if photo {
		colours = 256
	}
	var encoder png.Encoder
	var file bytes.Buffer
	if err := encoder.Encode(&file, paletted(img, count, colours)); err != nil {
		return err
	}
	if file.Len() > budget && !photo {
		file.Reset()
		encoder.CompressionLevel = png.BestCompression
		if err := encoder.Encode(&file, paletted(img, count, 16)); err != nil {
			return err
		}
	}
	_, err := file.WriteTo(w)
	return err
}

type rgb [3]uint8

func (p rgb) compare(q rgb) int { return slices.Compare(p[:], q[:]) }

func countColours(img *image.RGBA) map[rgb]int {
	count := map[rgb]int{}
	run := 0
	for i := 0; i < len(img.Pix); i += 4 {
		run++
		p := rgb(img.Pix[i : i+3])
		if next := i + 4; next == len(img.Pix) || rgb(img.Pix[next:next+3]) != p {
			count[p] += run // neighbours are mostly equal: one look-up for a run of them
			run = 0
		}
	}
	return count
}

// paletted returns img with at most n colours. The more frequent half of them are exact, so that grounds,
// lines and fills keep their colours; the rest are the means of a median cut of what remains (P. Heckbert,
// "Color image quantization for frame buffer display", 1982). Transparency is lost.
func paletted(img *image.RGBA, count map[rgb]int, n int) *image.Paletted {
	all := make([]rgb, 0, len(count))
	for p := range count {
		all = append(all, p)
	}
	slices.SortFunc(all, func(p, q rgb) int { // most frequent first; map order must not reach the file
		return cmp.Or(cmp.Compare(count[q], count[p]), p.compare(q))
	})
	exact := len(all)
	if exact > n {
		exact = n / 2
	}
	out := image.NewPaletted(img.Rect, nil)
	index := make(map[rgb]uint8, len(all))
	for i, p := range all[:exact] {
		out.Palette = append(out.Palette, color.RGBA{p[0], p[1], p[2], 0xff})
		index[p] = uint8(i)
	}
	for _, box := range medianCut(all[exact:], n-exact) {
		for _, p := range box {
			index[p] = uint8(len(out.Palette))
		}
		out.Palette = append(out.Palette, mean(box, count))
	}
	var last rgb
	lastIndex := index[last]
	for i := range out.Pix {
		if p := rgb(img.Pix[4*i : 4*i+3]); p != last {
			last, lastIndex = p, index[p]
		}
		out.Pix[i] = lastIndex
	}
	return out
}

// medianCut splits colours into at most n boxes, always the box with the longest side at the middle of
// that side.
func medianCut(colours []rgb, n int) (boxes [][]rgb) {
	if len(colours) == 0 || n == 0 {
		return nil
	}
	boxes = [][]rgb{colours}
	for len(boxes) < n {
		widest, channel, best := -1, 0, 0
		for i, box := range boxes {
			if c, length := longestSide(box); length > best {
				widest, channel, best = i, c, length
			}
		}
		if widest < 0 {
			break // every box holds one colour
		}
		box := boxes[widest]
		slices.SortFunc(box, func(p, q rgb) int {
			return cmp.Or(cmp.Compare(p[channel], q[channel]), p.compare(q))
		})
		middle := (int(box[0][channel]) + int(box[len(box)-1][channel])) / 2
		cut := slices.IndexFunc(box, func(p rgb) bool { return int(p[channel]) > middle })
		boxes[widest] = box[:cut]
		boxes = append(boxes, box[cut:])
	}
	return boxes
}

func longestSide(box []rgb) (channel, length int) {
	for c := range 3 {
		low, high := 255, 0
		for _, p := range box {
			low, high = min(low, int(p[c])), max(high, int(p[c]))
		}
		if high-low > length {
			channel, length = c, high-low
		}
	}
	return channel, length
}

func mean(box []rgb, count map[rgb]int) color.Color {
	var sum [3]int
	weight := 0
	for _, p := range box {
		weight += count[p]
		for c := range 3 {
			sum[c] += count[p] * int(p[c])
		}
	}
	return color.RGBA{uint8(sum[0] / weight), uint8(sum[1] / weight), uint8(sum[2] / weight), 0xff}
}
