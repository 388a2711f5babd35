package pictures

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"molehill/pkg/npy"
	"path"
	"strconv"
	"unicode/utf8"
)

// Drawer draws image i, pixels in [0, 1], to dst, [Schema.Images.Dim()].
type Drawer func(dst []float32, i int) error

// WriteZip writes n images as PNG files in an archive, in the layout of a folder
// that Open reads: class/00001.png, or 00001.png without classes. The same images
// give the same bytes.
func (s *Schema) WriteZip(to io.Writer, n int, classes []int, draw Drawer) error {
	archive := zip.NewWriter(to)
	counts := map[string]int{}
	width := max(5, len(strconv.Itoa(n)))
	dst := make([]float32, s.Images.Dim())
	for i := range n {
		if err := draw(dst, i); err != nil {
			return err
		}
		folder := ""
		if s.Classes != nil {
			folder = s.Classes.Names[classes[i]]
		}
		counts[folder]++
		// PNG is compressed already.
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: path.Join(folder, fmt.Sprintf("%0*d.png", width, counts[folder])), Method: zip.Store})
		if err != nil {
			return err
		}
		if err := png.Encode(entry, s.Images.picture(dst)); err != nil {
			return err
		}
	}
	return archive.Close()
}

// picture makes an image of values in [0, 1].
func (s Images) picture(values []float32) image.Image {
	if s.Channels == 1 {
		img := image.NewGray(image.Rect(0, 0, s.Width, s.Height))
		for i, v := range values {
			img.Pix[i] = eight(v)
		}
		return img
	}
	img := image.NewNRGBA(image.Rect(0, 0, s.Width, s.Height))
	for i := range s.Width * s.Height {
		for c := range 3 {
			img.Pix[4*i+c] = eight(values[3*i+c])
		}
		img.Pix[4*i+3] = 255
	}
	return img
}

// eight is a value in [0, 1] in 8 bits.
func eight(v float32) byte {
	if !(v > 0) {
		return 0
	}
	return byte(math.Round(255 * float64(min(v, 1))))
}

// WriteNPZ writes n images as a NumPy archive that Open reads: x of 8 bits, [n,
// height, width] for grey and [n, height, width, 3] for colour, and y, [n]: the
// number that is a class' name, or its place among the names, which are in classes
// then.
func (s *Schema) WriteNPZ(to io.Writer, n int, classes []int, draw Drawer) error {
	archive := zip.NewWriter(to)
	shape := fmt.Sprintf("%d, %d, %d", n, s.Images.Height, s.Images.Width)
	if s.Images.Channels == 3 {
		shape += ", 3"
	}
	entry, err := createArray(archive, imageArray, "|u1", shape)
	if err != nil {
		return err
	}
	dst, row := make([]float32, s.Images.Dim()), make([]byte, s.Images.Dim())
	for i := range n {
		if err := draw(dst, i); err != nil {
			return err
		}
		for k, v := range dst {
			row[k] = eight(v)
		}
		if _, err := entry.Write(row); err != nil {
			return err
		}
	}
	if s.Classes != nil {
		err = s.writeLabels(archive, n, classes)
	}
	return errors.Join(err, archive.Close())
}

func (s *Schema) writeLabels(archive *zip.Writer, n int, classes []int) error {
	names, values := s.Classes.Names, s.Classes.values()
	if !s.Classes.numbered() {
		longest := 1
		for _, name := range names {
			longest = max(longest, utf8.RuneCountInString(name))
		}
		var text []uint32 // NumPy's texts have 32 bits a character
		for _, name := range names {
			row := make([]uint32, longest)
			for j, r := range []rune(name) {
				row[j] = uint32(r)
			}
			text = append(text, row...)
		}
		entry, err := createArray(archive, nameArray, "<U"+strconv.Itoa(longest), fmt.Sprintf("%d,", len(names)))
		if err == nil {
			err = binary.Write(entry, binary.LittleEndian, text)
		}
		if err != nil {
			return err
		}
	}
	entry, err := createArray(archive, labelArray, "<i8", fmt.Sprintf("%d,", n))
	if err != nil {
		return err
	}
	labels := make([]int64, n)
	for i := range labels {
		labels[i] = int64(values[classes[i]])
	}
	return binary.Write(entry, binary.LittleEndian, labels)
}

// createArray begins an array of an archive: its header is written.
func createArray(archive *zip.Writer, name, kind, shape string) (io.Writer, error) {
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
	if err != nil {
		return nil, err
	}
	_, err = entry.Write(npy.Header(kind, shape))
	return entry, err
}
