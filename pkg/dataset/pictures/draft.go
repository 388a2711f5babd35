package pictures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/npy"
)

// draftSide is the most pixels of a side that a draft proposes: what a release can
// tell of an image is coarser than that.
const draftSide = 64

// HasImages reports whether a path is a folder, or a NumPy archive with an array x
// of images: other archives are tables.
func HasImages(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true
	}
	if !strings.EqualFold(filepath.Ext(path), ".npz") {
		return false
	}
	arrays, err := readArrays(path)
	if err != nil {
		return false
	}
	return len(arrays[imageArray].Shape) > 2
}

// Draft reads a first schema off images: the size that most of them have, up to 64
// pixels, whether they have colours, and the names of the classes. It is as private
// as they are until somebody has corrected and confirmed it.
func Draft(ctx context.Context, name, path string) (*Schema, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &Schema{Name: name, Images: Images{Shape: Shape{2, 2, 1}, Fit: Crop}}
	if info.IsDir() {
		err = s.draftFolder(ctx, path)
	} else {
		err = s.draftArchive(path)
	}
	if err != nil {
		return nil, fmt.Errorf("pictures: %s: %w", path, err)
	}
	if long := max(s.Images.Height, s.Images.Width); long > draftSide {
		s.Images.Height = max(2, s.Images.Height*draftSide/long)
		s.Images.Width = max(2, s.Images.Width*draftSide/long)
	}
	return s, s.Check()
}

func (s *Schema) draftFolder(ctx context.Context, path string) error {
	// The subfolders with images, as their names are.
	all, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	names, err := subfolders(all)
	if err = errors.Join(err, all.Close()); err != nil {
		return err
	}
	if names != nil {
		s.Classes = &Classes{Names: names}
		if err := s.Check(); err != nil {
			return err
		}
	}
	f, err := openFolder(path, s)
	if err != nil {
		return err
	}
	headers, faults, err := f.glance(ctx)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	sizes, colours := map[Shape]int{}, 0
	for _, config := range headers {
		sizes[Shape{config.Height, config.Width, 0}]++
		if isColour(config) {
			colours++
		}
	}
	best := Shape{}
	for size, count := range sizes {
		if count > sizes[best] || count == sizes[best] && size.Height*size.Width > best.Height*best.Width {
			best = size
		}
	}
	if best.Height == 0 {
		text := "none of its files is an image that can be taken:"
		for _, fault := range faults {
			text += fmt.Sprintf("\n  %v", fault)
		}
		return errors.New(text)
	}
	s.Images.Height, s.Images.Width = best.Height, best.Width
	if colours > 0 {
		s.Images.Channels = 3
	}
	return nil
}

// subfolders lists those with images, in the order of numbers if they are numbers.
func subfolders(root *os.Root) (names []string, err error) {
	entriesOf := lister(root)
	entries, err := entriesOf(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inside, err := entriesOf(e.Name())
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return e.Type().IsRegular() && isPicture(e.Name()) }) {
			names = append(names, e.Name())
		}
	}
	sortNames(names)
	return names, nil
}

func sortNames(names []string) {
	number := func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil
	}
	slices.SortFunc(names, func(a, b string) int {
		m, first := number(a)
		n, second := number(b)
		if first && second && m != n {
			return cmp.Compare(m, n)
		}
		return cmp.Compare(a, b)
	})
}

// glances is how many files are glanced at.
const glances = 2000

// Glance says what can be seen to disagree with a schema at a glance: from the headers
// of up to 2000 files of a folder, spread over its classes. Archives have none. It is
// for the keeper of the images.
func Glance(ctx context.Context, path string, schema *Schema) ([]Disagreement, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, err
	}
	f, err := openFolder(path, schema)
	if err != nil {
		return nil, err
	}
	_, faults, err := f.glance(ctx)
	return faults, errors.Join(err, f.Close())
}

func (f *folder) glance(ctx context.Context) (headers []image.Config, faults []Disagreement, err error) {
	faults = f.Left()
	count := min(f.Len(), glances)
	for k := range count {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		i := k * f.Len() / count // spread over the classes, however they are ordered
		config, err := f.header(i)
		if err != nil {
			faults = note(faults, err.Error(), f.Name(i), asGrey)
			continue
		}
		headers = append(headers, config)
	}
	return headers, faults, nil
}

// header reads what an image says of itself.
func (f *folder) header(i int) (image.Config, error) {
	file, err := f.open(i)
	if err != nil {
		return image.Config{}, err
	}
	defer file.Close() // it is only read
	info, err := file.Stat()
	if err != nil {
		return image.Config{}, errRead
	}
	return headerOf(file, info.Size())
}

// isColour goes by the header: a grey image saved in colours counts as colour.
func isColour(c image.Config) bool {
	return c.ColorModel != color.GrayModel && c.ColorModel != color.Gray16Model
}

func (s *Schema) draftArchive(path string) error {
	arrays, err := readArrays(path)
	if err != nil {
		return err
	}
	x, shape, err := imagesOf(arrays)
	if err != nil {
		return err
	}
	s.Images.Shape, s.Images.White = shape, white(x)
	y, ok := arrays[labelArray]
	if !ok {
		return nil
	}
	if len(y.Shape) != 1 || y.Shape[0] != x.Shape[0] {
		return fmt.Errorf("array %s has shape %v; expected [%d], a label for each image", labelArray, y.Shape, x.Shape[0])
	}
	seen := map[string]bool{}
	s.Classes = &Classes{}
	for i := range y.Shape[0] {
		name := strconv.FormatFloat(y.At(i), 'f', -1, 64)
		if _, ok := wholeNumber(name); !ok {
			continue // no class: the image counts as one that cannot be read
		}
		if !seen[name] {
			if seen[name] = true; len(seen) > MaxClasses {
				return fmt.Errorf("array %s has more than %d values; expected whole numbers that name classes", labelArray, MaxClasses)
			}
			s.Classes.Names = append(s.Classes.Names, name)
		}
	}
	if len(seen) == 0 {
		return fmt.Errorf("array %s has no whole number; expected numbers that name classes", labelArray)
	}
	sortNames(s.Classes.Names)
	return nil
}

// white is what a white pixel has in most arrays of a type.
func white(a npy.View) float64 {
	switch a.Kind {
	case "f4", "f8", "b1":
		return 1
	case "u2":
		return 65535
	}
	return 255
}
