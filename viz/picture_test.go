package viz

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// A picture is shown as the figure was that it was drawn from.
func TestPictureIsTheFigureItWasDrawnFrom(t *testing.T) {
	figure := Images{Title: "four", X: make([]float32, 4*9), Height: 3, Width: 3}
	var drawn bytes.Buffer
	if err := figure.PNG(&drawn); err != nil {
		t.Fatal(err)
	}
	picture := Picture{Title: "four", Bytes: drawn.Bytes()}
	want, got := display(figure), display(picture)
	if !bytes.Equal(got.Data[protocol.MIMEImagePNG].([]byte), want.Data[protocol.MIMEImagePNG].([]byte)) ||
		got.Data[protocol.MIMETextPlain] != want.Data[protocol.MIMETextPlain] {
		t.Error("another picture")
	}
	size := func(m map[string]any) int {
		return m[string(protocol.MIMEImagePNG)].(map[string]int)["width"]
	}
	if size(got.Metadata) != size(want.Metadata) {
		t.Errorf("%d CSS pixels wide, the figure %d", size(got.Metadata), size(want.Metadata))
	}
	path := filepath.Join(t.TempDir(), "four.png")
	if err := picture.Save(path); err != nil {
		t.Fatal(err)
	}
	if saved, err := os.ReadFile(path); err != nil || !bytes.Equal(saved, drawn.Bytes()) {
		t.Errorf("saved another picture: %v", err)
	}
	for _, bad := range []error{picture.Save("four.pdf"), Picture{Bytes: []byte("GIF")}.PNG(&drawn), Picture{}.Save(path)} {
		if bad == nil {
			t.Error("no error")
		}
	}
}
