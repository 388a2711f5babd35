package clip

import "fmt"

// Convolution is a two-dimensional convolution of images [Height, Width,
// Channels] with square kernels [Kernel, Kernel, Channels, Out].
type Convolution struct {
	Height, Width, Channels int
	Kernel, Stride, Padding int // Padding zeros on each side
}

// Size returns how many rows and columns of outputs the convolution has.
func (c Convolution) Size() (rows, columns int) {
	along := func(n int) int {
		if n += 2*c.Padding - c.Kernel; n < 0 || c.Stride < 1 {
			return 0
		}
		return n/c.Stride + 1
	}
	return along(c.Height), along(c.Width)
}

// Unfold returns the patch of the image under the kernel at each output: [n,
// rows·columns, Kernel·Kernel·Channels] of images [n, Height, Width, Channels].
// They are the Inputs of the Layer that the convolution is, with In =
// Kernel·Kernel·Channels and Positions = rows·columns.
func Unfold[F Float](c Convolution, images []F) ([]F, error) {
	rows, columns := c.Size()
	pixels := c.Height * c.Width * c.Channels
	if min(c.Height, c.Width, c.Channels, c.Kernel, rows, columns) < 1 || c.Padding < 0 || len(images)%pixels != 0 {
		return nil, fmt.Errorf("clip: %d numbers under %+v; want images of Height·Width·Channels numbers, at least as large as the kernel, and a stride of at least 1", len(images), c)
	}
	n := len(images) / pixels
	patch := c.Kernel * c.Kernel * c.Channels
	unfolded := make([]F, n*rows*columns*patch)
	parallel(n, func(i int) {
		image, at := images[i*pixels:(i+1)*pixels], i*rows*columns*patch
		for r := range rows {
			for col := range columns {
				for k := range c.Kernel {
					for l := range c.Kernel {
						if y, x := r*c.Stride+k-c.Padding, col*c.Stride+l-c.Padding; y >= 0 && y < c.Height && x >= 0 && x < c.Width {
							from := (y*c.Width + x) * c.Channels
							copy(unfolded[at:at+c.Channels], image[from:])
						}
						at += c.Channels
					}
				}
			}
		}
	})
	return unfolded, nil
}
