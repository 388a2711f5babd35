// Package pictures reads and writes images of people's own: folders of PNG and JPEG
// files, one subfolder a class or none, and NumPy archives.
//
// A schema says what is public about them: the size that every image is brought to,
// and the names of the classes. Everything that turns a file into numbers comes from
// it and nothing from other files, so that what a record becomes depends on that
// record alone.
//
//	schema, err := pictures.ReadSchema("digits.schema.json")
//	source, err := pictures.Open("digits", schema)
//	faults, err := pictures.Each(ctx, source, 256, func(first int, images []float32, classes []int) error { … })
//
// A file never stops a reading, whatever it holds: one that is no image, is too
// large, or lies in a folder that is no class becomes a grey image of the first
// class. Else whether a release comes at all would tell of single records. How many
// files there are is public.
package pictures

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molehill/pkg/dataset/schema"
	"molehill/pkg/plugin"
)

// Schema is what is public about images.
type Schema struct {
	// Name is the data set's. What is spent on it is booked under this name, so
	// data of the same people share one.
	Name    string   `json:"name"`
	Images  Images   `json:"images"`
	Classes *Classes `json:"classes,omitempty"` // nil for images without classes
}

// Images is what every image is brought to.
type Images struct {
	Shape
	// Fit says how an image of another size is brought to this one.
	Fit Fit `json:"fit"`
	// Like names a public data set that the images are like, "mnist" for example: a
	// model that was trained on it may then see them. "" for none.
	Like string `json:"like,omitempty"`
	// White is the value of a white pixel in an archive's array, 255 say; 0 for images
	// in files, which tell it. It is not read off the array: NumPy gives all images of
	// one the type of the widest, so that one image would scale all others.
	White float64 `json:"white,omitempty"`
	// Public has to be set to true by a person: it says that all of this is known
	// without looking at the images.
	Public bool `json:"public"`
}

// Shape is that of all images of a data set.
type Shape struct {
	Height   int `json:"height"`   // pixels
	Width    int `json:"width"`    // pixels
	Channels int `json:"channels"` // 1 for grey, 3 for red, green, blue
}

// Dim is the number of values of an image: row, column, channel.
func (s Shape) Dim() int { return s.Height * s.Width * s.Channels }

// String is a shape as people write it, the width first.
func (s Shape) String() string {
	colours := "grey"
	if s.Channels == 3 {
		colours = "in colour"
	}
	which := ""
	if s.Width != s.Height {
		which = " (width × height)"
	}
	return fmt.Sprintf("%d×%d pixels%s, %s", s.Width, s.Height, which, colours)
}

// Fit is how an image is brought to a size.
type Fit string

// The ways to bring images to a size.
const (
	Crop    Fit = "crop"    // scaled until it covers the size, and its middle taken
	Stretch Fit = "stretch" // scaled both ways as needed
	Pad     Fit = "pad"     // scaled until it fits into the size, on black
)

// Fits are the ways.
var Fits = []Fit{Crop, Stretch, Pad}

// Classes are the names that images may have: those of the subfolders, or the texts
// of an archive's labels.
type Classes struct {
	Names  []string `json:"names"`
	Public bool     `json:"public"` // see Images.Public
}

// Limits of a schema: what is larger is a slip, or does not fit into memory.
const (
	MaxSide    = 1024 // of an image, in pixels
	MaxClasses = 1000
	mostWhite  = 1 << 32
)

// IsSchema reports whether a file is a schema of images: JSON with the field "images".
func IsSchema(path string) bool {
	file, err := schema.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var s struct {
		Images json.RawMessage `json:"images"`
	}
	err = json.NewDecoder(io.LimitReader(file, schema.Max)).Decode(&s)
	return err == nil && s.Images != nil
}

// ReadSchema reads a schema file.
func ReadSchema(path string) (*Schema, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pictures: schema: %w; `molehill schema FOLDER` drafts one", err)
	}
	defer file.Close()
	s, err := DecodeSchema(file)
	if err != nil {
		return nil, fmt.Errorf("pictures: schema %s: %w", path, err)
	}
	return s, nil
}

// DecodeSchema reads a schema and checks it. Unknown fields are errors: a misspelt
// one would otherwise be left out in silence.
func DecodeSchema(from io.Reader) (*Schema, error) {
	var s Schema
	if err := schema.Decode(from, &s); err != nil {
		return nil, fmt.Errorf("expected the schema of images as JSON: %w", err)
	}
	return &s, s.Check()
}

// Encode writes a schema as people edit it.
func (s *Schema) Encode(to io.Writer) error { return schema.Encode(to, s) }

// Sum is a hash of what the schema says, however its file is written.
func (s *Schema) Sum() ([]byte, error) { return schema.Sum(s) }

// Check returns an error unless the schema is whole.
func (s *Schema) Check() error {
	if err := schema.CheckName(s.Name); err != nil {
		return err
	}
	i := s.Images
	switch {
	case i.Height < 2 || i.Width < 2 || i.Height > MaxSide || i.Width > MaxSide:
		return fmt.Errorf("images %d pixels wide and %d high: expected a width and a height of 2 to %d", i.Width, i.Height, MaxSide)
	case i.Channels != 1 && i.Channels != 3:
		return fmt.Errorf("images with %d channels: expected 1 for grey or 3 for colour", i.Channels)
	case !(i.White >= 0) || i.White > mostWhite:
		return fmt.Errorf("white is %v: expected the value of a white pixel, such as 1, 255 or 65535", i.White)
	case !slices.Contains(Fits, i.Fit):
		return fmt.Errorf("fit %q: expected one of %q", i.Fit, Fits)
	}
	if s.Classes == nil {
		return nil
	}
	names := s.Classes.Names
	if len(names) == 0 || len(names) > MaxClasses {
		return fmt.Errorf("%d classes: expected 1 to %d; images without classes have no \"classes\"", len(names), MaxClasses)
	}
	folded := map[string]string{}
	for _, name := range names {
		if err := checkClass(name); err != nil {
			return err
		}
		// Folders of both would be one on many computers.
		key := strings.ToLower(name)
		if other, twice := folded[key]; twice {
			return fmt.Errorf("classes %q and %q: expected names that differ in more than case", other, name)
		}
		folded[key] = name
	}
	return nil
}

// checkClass refuses names that cannot be folders anywhere, or would lead out of one.
func checkClass(name string) error {
	bad := name == "" || len(name) > 100 || !utf8.ValidString(name) || strings.HasPrefix(name, ".") ||
		strings.TrimSpace(name) != name || strings.HasSuffix(name, ".") || strings.ContainsAny(name, `/\:*?"<>|`) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn) })
	if bad {
		return fmt.Errorf("class %q: expected the name of a folder, up to 100 bytes, that neither begins nor ends with a point or space has none of / \\ : * ? \" < > | and no character that cannot be seen alone (an accent is one with its letter)", name)
	}
	return nil
}

// Names returns the classes' names, nil without classes.
func (s *Schema) Names() []string {
	if s.Classes == nil {
		return nil
	}
	return s.Classes.Names
}

// Part is a part of a schema that has to be confirmed.
type Part struct {
	Name   string
	Says   string
	Public bool
}

// The names of the parts.
const (
	partImages  = "images"
	partClasses = "classes"
)

// Parts lists what a schema declares.
func (s *Schema) Parts() []Part {
	i := s.Images
	says := fmt.Sprintf("%v; others: %s", i.Shape, i.Fit)
	if i.Like != "" {
		says += "; like " + i.Like
	}
	if i.White > 0 {
		says += fmt.Sprintf("; white is %v in an archive", i.White)
	}
	parts := []Part{{partImages, says, i.Public}}
	if s.Classes != nil {
		parts = append(parts, Part{partClasses, fmt.Sprintf("%d: %s", len(s.Classes.Names), strings.Join(s.Classes.Names, ", ")), s.Classes.Public})
	}
	return parts
}

// Confirm marks parts as public, all of them if none is named.
func (s *Schema) Confirm(names ...string) error {
	known := []string{partImages}
	if s.Classes != nil {
		known = append(known, partClasses)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return &plugin.UnknownError{Kind: "part of the schema", Name: name, Nearest: known}
		}
	}
	if len(names) == 0 || slices.Contains(names, partImages) {
		s.Images.Public = true
	}
	if s.Classes != nil && (len(names) == 0 || slices.Contains(names, partClasses)) {
		s.Classes.Public = true
	}
	return nil
}

// Confirmed returns an error that lists what nobody has said to be public yet.
// Nothing may be released before.
func (s *Schema) Confirmed() error {
	var open []string
	for _, p := range s.Parts() {
		if !p.Public {
			open = append(open, fmt.Sprintf("  %s: %s", p.Name, p.Says))
		}
	}
	if open == nil {
		return nil
	}
	return fmt.Errorf("pictures: nobody has said yet that this is public, known without looking at the images:\n%s\ncorrect it in the schema file, then set \"public\": true, or run `molehill schema confirm FILE images classes`", strings.Join(open, "\n"))
}
