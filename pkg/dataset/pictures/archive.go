package pictures

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"molehill/pkg/npy"
)

// maxArchive is the most that an array of an archive may unpack to, in bytes.
const maxArchive = 8 << 30

// archive is images in a NumPy archive: x, [n, height, width] or [n, height, width,
// channels], and y, [n], where they have classes.
type archive struct {
	schema  *Schema
	x       npy.View
	shape   Shape
	classes []int // of each record, -1 for none of the schema's
}

func openArchive(path string, schema *Schema) (*archive, error) {
	arrays, err := readArrays(path)
	if err != nil {
		return nil, err
	}
	a := &archive{schema: schema}
	if a.x, a.shape, err = imagesOf(arrays); err != nil {
		return nil, err
	}
	if schema.Images.White == 0 {
		return nil, fmt.Errorf("the schema does not say which value of array %s is white; set \"white\" of its \"images\", to 1, 255 or 65535 for example", imageArray)
	}
	if schema.Classes == nil {
		return a, nil
	}
	y, ok := arrays[labelArray]
	if !ok {
		return nil, fmt.Errorf("it has no array %s, and the schema has classes; save a label for each image", labelArray)
	}
	if len(y.Shape) != 1 || y.Shape[0] != a.Len() {
		return nil, fmt.Errorf("array %s has shape %v; expected [%d], a label for each image", labelArray, y.Shape, a.Len())
	}
	if number, name := schema.Classes.mixed(); name != "" {
		return nil, fmt.Errorf("class %q is a whole number and class %q is none: labels in array %s are the classes' names where all of these are whole numbers, and their places, from 0, where none is; give all of them one or the other kind of name", number, name, labelArray)
	}
	a.classes = make([]int, a.Len())
	names, values := schema.Classes.Names, schema.Classes.values()
	of := map[float64]int{}
	for k := range names {
		of[values[k]] = k
	}
	for i := range a.classes {
		class, ok := of[y.At(i)]
		if !ok {
			class = -1
		}
		a.classes[i] = class
	}
	return a, nil
}

// The names of an archive's arrays.
const (
	imageArray = "x"
	labelArray = "y"
	nameArray  = "classes" // names of the labels, in archives that are written
)

// values are the numbers that stand for the classes in an archive: their names, if
// all of them are whole numbers, or else their places.
func (c *Classes) values() []float64 {
	values := make([]float64, len(c.Names))
	for k, name := range c.Names {
		v, ok := wholeNumber(name)
		if !ok {
			for k := range values {
				values[k] = float64(k)
			}
			return values
		}
		values[k] = v
	}
	return values
}

// wholeNumber reads a label that names a class by its number.
func wholeNumber(name string) (float64, bool) {
	v, err := strconv.ParseInt(name, 10, 32)
	return float64(v), err == nil && strconv.FormatInt(v, 10) == name
}

// mixed returns a name that is a whole number and one that is none, if there are both.
func (c *Classes) mixed() (number, name string) {
	for _, n := range c.Names {
		if _, ok := wholeNumber(n); ok {
			number = n
		} else {
			name = n
		}
	}
	if number == "" {
		name = ""
	}
	return number, name
}

// numbered reports whether the names are the numbers that stand for them.
func (c *Classes) numbered() bool {
	for k, v := range c.values() {
		if c.Names[k] != strconv.FormatFloat(v, 'f', -1, 64) {
			return false
		}
	}
	return true
}

// imagesOf finds the images of an archive.
func imagesOf(arrays map[string]npy.View) (npy.View, Shape, error) {
	x, ok := arrays[imageArray]
	if !ok {
		return x, Shape{}, fmt.Errorf("it has no array %s of images", imageArray)
	}
	s := Shape{Channels: 1}
	switch len(x.Shape) {
	case 4:
		s.Channels = x.Shape[3]
		fallthrough
	case 3:
		s.Height, s.Width = x.Shape[1], x.Shape[2]
	default:
		return x, s, fmt.Errorf("array %s has shape %v; expected [images, height, width] or [images, height, width, channels]", imageArray, x.Shape)
	}
	if s.Channels != 1 && s.Channels != 3 || s.Height > maxLine || s.Width > maxLine || s.Height*s.Width > MaxPixels {
		return x, s, fmt.Errorf("array %s has shape %v; expected 1 or 3 channels last, and at most %d pixels of a side and %d in all", imageArray, x.Shape, maxLine, MaxPixels)
	}
	return x, s, nil
}

// readArrays reads the arrays called x and y.
func readArrays(path string) (_ map[string]npy.View, err error) {
	files, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("expected a whole .npz archive: %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	arrays := map[string]npy.View{}
	for _, name := range []string{imageArray, labelArray} {
		at := slices.IndexFunc(files.File, func(f *zip.File) bool { return f.Name == name+".npy" })
		if at < 0 {
			continue
		}
		content, err := unpack(files.File[at])
		if err == nil {
			arrays[name], err = npy.Look(content)
		}
		if err != nil {
			return nil, fmt.Errorf("array %s: %w", name, err)
		}
	}
	return arrays, nil
}

func unpack(file *zip.File) ([]byte, error) {
	from, err := file.Open()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(from, maxArchive+1))
	if err == nil && len(content) > maxArchive {
		err = fmt.Errorf("it unpacks to more than %d bytes", int64(maxArchive))
	}
	return content, errors.Join(err, from.Close())
}

// Len implements Source.
func (a *archive) Len() int { return a.x.Shape[0] }

// Name implements Source.
func (a *archive) Name(i int) string { return fmt.Sprintf("%s[%d]", imageArray, i) }

// Left implements Source.
func (a *archive) Left() []Disagreement { return nil }

// Close implements Source.
func (a *archive) Close() error { return nil }

// Picture implements Source. Images of another size than the schema's become 8 bits
// a value, as those of files are.
func (a *archive) Picture(dst []float32, i int) (int, error) {
	class := 0
	if a.classes != nil {
		if class = a.classes[i]; class < 0 {
			fillGrey(dst)
			return 0, errClass
		}
	}
	dim, white := a.shape.Dim(), a.schema.Images.White
	var fault error
	values := dst
	if a.shape != a.schema.Images.Shape {
		values = make([]float32, dim)
	}
	for k := range dim {
		v := a.x.At(i*dim+k) / white
		if !(v >= 0 && v <= 1) {
			fault = errRange
			if math.IsNaN(v) {
				v = 0
			}
			v = min(max(v, 0), 1)
		}
		values[k] = float32(v)
	}
	if a.shape != a.schema.Images.Shape {
		a.schema.Images.fit(dst, &pixels{a.shape, values})
	}
	return class, fault
}

// Sum implements Source.
func (a *archive) Sum(context.Context) ([]byte, error) {
	all := sha256.New()
	fmt.Fprintf(all, "%s %v\n", a.x.Kind, a.x.Shape)
	all.Write(a.x.Data)
	for _, class := range a.classes {
		fmt.Fprintln(all, class)
	}
	return all.Sum(nil), nil
}
