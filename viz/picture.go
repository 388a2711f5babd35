package viz

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"molehill/pkg/atomicfile"
)

// Picture is a figure that was drawn before: the PNG that a figure's PNG or Save
// wrote, to be shown at the same size.
type Picture struct {
	Title string // not drawn: the picture has its own
	Bytes []byte // PNG
}

// Heading returns the title.
func (f Picture) Heading() string { return f.Title }

// PNG implements Figure.
func (f Picture) PNG(w io.Writer) error {
	if _, err := png.DecodeConfig(bytes.NewReader(f.Bytes)); err != nil {
		return fmt.Errorf("viz: Picture %q is no PNG: %w", f.Title, err)
	}
	_, err := w.Write(f.Bytes)
	return err
}

// Save implements Figure, for .png files only.
func (f Picture) Save(path string) error {
	if strings.ToLower(filepath.Ext(path)) != ".png" {
		return fmt.Errorf("viz: a Picture is saved as .png, not as %s", path)
	}
	return atomicfile.Write(path, 0o644, f.PNG)
}
