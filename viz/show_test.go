package viz

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// kernel stands in for GoNB: it reads what cells send through one pipe and acknowledges Sync through the
// other.
type kernel struct {
	mu      sync.Mutex
	outputs []*protocol.DisplayData
}

// startKernel is called once: gonbui keeps its pipes for the life of the process.
var startKernel = sync.OnceValues(func() (*kernel, error) {
	dir, err := os.MkdirTemp("", "viz-kernel")
	if err != nil {
		return nil, err
	}
	there, back := filepath.Join(dir, "there"), filepath.Join(dir, "back")
	for name, path := range map[string]string{protocol.GONB_PIPE_ENV: there, protocol.GONB_PIPE_BACK_ENV: back} {
		if err := errors.Join(syscall.Mkfifo(path, 0o600), os.Setenv(name, path)); err != nil {
			return nil, err
		}
	}
	k := &kernel{}
	go k.serve(there, back, dir)
	return k, nil
})

func (k *kernel) serve(there, back, dir string) {
	in, err := os.Open(there)
	if err != nil {
		panic(err)
	}
	out, err := os.OpenFile(back, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	os.RemoveAll(dir)
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		data := &protocol.DisplayData{}
		if decoder.Decode(data) != nil {
			return
		}
		if sync, ok := data.Data[protocol.MIMECommValue].(protocol.CommValue); ok {
			_ = encoder.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: sync.Value})
			continue
		}
		k.mu.Lock()
		k.outputs = append(k.outputs, data)
		k.mu.Unlock()
	}
}

// inNotebook runs cell as if GoNB had started it and returns what it displayed.
func inNotebook(t *testing.T, cell func()) []*protocol.DisplayData {
	t.Helper()
	k, err := startKernel()
	if err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	k.mu.Lock()
	k.outputs = nil
	k.mu.Unlock()
	gonbui.IsNotebook = true
	defer func() { gonbui.IsNotebook = false }()
	cell()
	gonbui.Sync()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.outputs
}

// plainStringer is shown as text.
type plainStringer struct{}

func (plainStringer) String() string { return "a *plain* stringer" }

type panickingStringer struct{}

func (panickingStringer) String() string { panic("no text") }

// GoNB reads what is printed and what is shown through two pipes, and may be slow with either.
func TestShowComesAfterWhatWasPrinted(t *testing.T) {
	for _, name := range []string{"stdout", "stderr"} {
		t.Run(name, func(t *testing.T) {
			stream := &os.Stdout
			if name == "stderr" {
				stream = &os.Stderr
			}
			from, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			before := *stream
			defer func() { *stream = before }()
			*stream = to
			var reader sync.WaitGroup
			outputs := inNotebook(t, func() {
				fmt.Fprint(*stream, "A line in three pieces.\n")
				reader.Go(func() {
					for range 3 {
						time.Sleep(20 * time.Millisecond)
						k, _ := startKernel()
						k.mu.Lock()
						if n := len(k.outputs); n > 0 {
							t.Errorf("%d outputs are shown before all text is read", n)
						}
						k.mu.Unlock()
						if n, err := from.Read(make([]byte, 8)); n != 8 || err != nil {
							t.Errorf("read %d bytes, %v", n, err)
						}
					}
				})
				Show("What it announces.")
			})
			reader.Wait()
			if len(outputs) != 1 {
				t.Errorf("%d outputs, want 1", len(outputs))
			}
		})
	}
}

func TestShow(t *testing.T) {
	table := privacyTable()
	long := privacyTable()
	long.Add(1, 2, 3, 4)
	outputs := inNotebook(t, func() {
		Show(sliceFigure(), table, &table, "**bold**", errors.New("no <data> at $x$"), Curves{}, plainStringer{}, panickingStringer{}, nil, long, foreign{}, 42)
	})
	want := []struct {
		mime protocol.MIMEType
		text string
	}{
		{protocol.MIMEImagePNG, "\x89PNG"},
		{protocol.MIMETextHTML, "<table"},
		{protocol.MIMETextMarkdown, "| method | ε |"},
		{protocol.MIMETextMarkdown, "**bold**"},
		{protocol.MIMETextHTML, "no &lt;data&gt; at <span>$</span>x<span>$</span>"},
		{protocol.MIMETextPlain, "error: viz: Curves has no line to draw"},
		{protocol.MIMETextPlain, "a *plain* stringer"},
		{protocol.MIMETextPlain, "no text"},
		{protocol.MIMETextPlain, "the value is nil"},
		{protocol.MIMETextPlain, "row 4 has 4 values"},
		{protocol.MIMETextPlain, "showing a viz.foreign failed: foreign"},
		{protocol.MIMETextPlain, "42"},
	}
	if len(outputs) != len(want) {
		t.Fatalf("%d outputs, want %d", len(outputs), len(want))
	}
	for i, w := range want {
		content := outputs[i].Data[w.mime]
		if raw, ok := content.([]byte); ok {
			content = string(raw)
		}
		if text, _ := content.(string); !strings.Contains(text, w.text) {
			t.Errorf("output %d as %s is %.200q, want it to contain %q", i, w.mime, text, w.text)
		}
	}
	config, err := png.DecodeConfig(bytes.NewReader(outputs[0].Data[protocol.MIMEImagePNG].([]byte)))
	width := outputs[0].Metadata["image/png"].(map[string]int)["width"]
	if err != nil || width != config.Width/2 {
		t.Errorf("a PNG of %d dots is shown %d pixels wide (%v), want half", config.Width, width, err)
	}
}

// noticed counts how often it is drawn.
type noticed struct{ drawn *int }

func (noticed) Heading() string       { return "" }
func (n noticed) PNG(io.Writer) error { *n.drawn++; return nil }
func (noticed) Save(string) error     { return nil }

// TestSilentElsewhere checks that nothing is drawn outside a notebook, where gonbui sends nothing.
func TestSilentElsewhere(t *testing.T) {
	drawn := 0
	elsewhere := func() {
		Show(noticed{&drawn}, errors.New("unseen"))
		var live Live
		live.Update(noticed{&drawn})
		live.Done()
		p := NewProgress("unseen", 10)
		p.bar = nil // the test may run on a terminal
		p.Set(1, "")
		p.Done()
	}
	if elsewhere(); drawn > 0 {
		t.Errorf("outside a notebook it is drawn %d times", drawn)
	}
	if inNotebook(t, elsewhere); drawn != 2 {
		t.Errorf("in a notebook it is drawn %d times, want one for each of Show and Live", drawn)
	}
}

func TestProgressInNotebook(t *testing.T) {
	start := time.Now()
	outputs := inNotebook(t, func() {
		p := NewProgress("flow <1>", 50)
		for step := range 50 {
			time.Sleep(6 * time.Millisecond)
			p.Set(step+1, fmt.Sprintf("sliced W₂ %.2f", 1/float64(step+1)))
		}
		p.Done()
		p.Done()
		p.Set(3, "after the end")
	})
	updates := int(time.Since(start)/progressInterval) + 2
	if len(outputs) < 3 || len(outputs) > updates {
		t.Fatalf("%d outputs, want between 3 and %d", len(outputs), updates)
	}
	last := outputs[len(outputs)-1]
	if text := last.Data[protocol.MIMETextPlain].(string); !strings.HasPrefix(text, "flow <1> · 50 steps in 0.") || !strings.HasSuffix(text, "· sliced W₂ 0.02") {
		t.Errorf("the last line is %q", text)
	}
	for _, o := range outputs {
		page, _ := o.Data[protocol.MIMETextHTML].(string)
		if o.DisplayID != last.DisplayID || o.DisplayID == "" || !strings.Contains(page, "flow &lt;1&gt;") {
			t.Errorf("output %q under id %q", page, o.DisplayID)
		}
	}
	stopped := inNotebook(t, func() {
		p := NewProgress("flow", 50)
		p.Set(20, "")
		p.Done()
	})
	if text := stopped[len(stopped)-1].Data[protocol.MIMETextPlain].(string); !strings.HasPrefix(text, "flow · stopped at 20 of 50 in 0.") {
		t.Errorf("after a stop the last line is %q", text)
	}
}

func TestLive(t *testing.T) {
	outputs := inNotebook(t, func() {
		var live Live
		for i := range 100 {
			live.Update(fmt.Sprint("state ", i))
		}
		live.Done()
	})
	if len(outputs) != 2 || outputs[0].Data[protocol.MIMETextPlain] != "state 0" || outputs[1].Data[protocol.MIMETextPlain] != "state 99" {
		t.Fatalf("%d outputs, want the first and the last state", len(outputs))
	}
	if outputs[0].DisplayID != outputs[1].DisplayID {
		t.Error("the states are shown in different places")
	}
}

func TestStatus(t *testing.T) {
	now := time.Now()
	for want, p := range map[string]*Progress{
		"30 of 200 · 2/s · 85 s left · loss 1":   {total: 200, step: 30, first: 10, began: now.Add(-10 * time.Second), note: "loss 1"},
		"12 of 20 · 5 s each · 40 s left":        {total: 20, step: 12, first: 10, began: now.Add(-10 * time.Second)},
		"30 · 3/s":                               {step: 30, first: 0, began: now.Add(-10 * time.Second)},
		"10 of 20":                               {total: 20, step: 10, first: 10, began: now.Add(-10 * time.Second)},
		"100 of 100000 · 10/s · 2 h 47 min left": {total: 100000, step: 100, first: 0, began: now.Add(-10 * time.Second)},
	} {
		if got := p.status(now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	words := &Progress{title: "flow", first: 0, began: now, created: now.Add(-3 * time.Second), note: "encoding: 6 of 9"}
	if status, summary := words.status(now), words.summary(now); status != "encoding: 6 of 9" || summary != "flow · 3.0 s · encoding: 6 of 9" {
		t.Errorf("where nothing is counted the line says %q and at last %q", status, summary)
	}
}
