package viz

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"molehill/viz/internal/sheet"
)

// Show displays its arguments below the cell of a GoNB notebook, in order: figures and images as
// pictures, tables as tables, strings as Markdown, errors as a visible message, and anything else as
// plain text. What cannot be drawn is shown as the error that it gave, so nothing is swallowed. Outside a
// notebook Show does nothing.
func Show(figures ...any) {
	if !gonbui.IsNotebook {
		return
	}
	for _, v := range figures {
		send(v, "")
	}
	gonbui.Sync() // the cell's program may end right after; what is in the pipe would be lost
}

// send displays v, in place of what was shown under the same id unless that is "".
func send(v any, id string) {
	data := display(v)
	data.DisplayID = id
	deliver(data)
}

// deliver sends an output once GoNB has taken what the cell has printed: text goes a way of its own,
// and a table could overtake the line that announces it. It waits a second at most.
func deliver(data *protocol.DisplayData) {
	for end := time.Now().Add(time.Second); unread(os.Stdout)+unread(os.Stderr) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	gonbui.SendData(data)
}

// bundle is one output in several forms; the front end takes the richest it can show.
type bundle = map[protocol.MIMEType]any

// display turns a value into an output. It never fails: an error is what is displayed.
func display(v any) (data *protocol.DisplayData) {
	defer func() {
		if cause := recover(); cause != nil {
			data = message(fmt.Errorf("viz: showing a %T failed: %v", v, cause))
		}
	}()
	switch v := v.(type) {
	case nil:
		return message(fmt.Errorf("viz: nothing to show: the value is nil"))
	case error:
		return message(v)
	case Figure:
		return picturePNG(v)
	case *Table:
		return display(*v)
	case Table:
		if err := v.check(); err != nil {
			return message(err)
		}
		return &protocol.DisplayData{Data: bundle{
			protocol.MIMETextHTML:     v.HTML(),
			protocol.MIMETextMarkdown: v.Markdown(),
			protocol.MIMETextPlain:    v.String(),
		}}
	case image.Image:
		var b bytes.Buffer
		if err := png.Encode(&b, v); err != nil {
			return message(err)
		}
		return &protocol.DisplayData{Data: bundle{protocol.MIMEImagePNG: b.Bytes(), protocol.MIMETextPlain: "image"}}
	case string:
		return &protocol.DisplayData{Data: bundle{protocol.MIMETextMarkdown: v, protocol.MIMETextPlain: v}}
	default: // a fmt.Stringer included
		return &protocol.DisplayData{Data: bundle{protocol.MIMETextPlain: fmt.Sprint(v)}}
	}
}

// picturePNG displays a figure at its size in CSS pixels, which is half of its dots.
func picturePNG(f Figure) *protocol.DisplayData {
	var b bytes.Buffer
	if err := f.PNG(&b); err != nil {
		return message(err)
	}
	name := f.Heading()
	if name == "" {
		name = "figure"
	}
	data := &protocol.DisplayData{Data: bundle{protocol.MIMEImagePNG: b.Bytes(), protocol.MIMETextPlain: name}}
	_, ours := f.(illustrator)
	if _, before := f.(Picture); ours || before {
		if config, err := png.DecodeConfig(&b); err == nil {
			data.Metadata = map[string]any{string(protocol.MIMEImagePNG): map[string]int{"width": config.Width * 96 / sheet.Resolution}}
		}
	}
	return data
}

// message displays an error.
func message(err error) *protocol.DisplayData {
	text := err.Error()
	return &protocol.DisplayData{Data: bundle{
		protocol.MIMETextHTML: "<div style=\"border-left:4px solid #d55e00;padding:0.4em 0.9em\"><b>Error.</b> " +
			escapeHTML(text) + "</div>",
		protocol.MIMETextMarkdown: "> **Error.** " + EscapeMarkdown(text) + "\n",
		protocol.MIMETextPlain:    "error: " + text,
	}}
}

// Live shows one output that later updates replace in place, such as the figure of a running flow. The
// zero Live is ready. It is safe for concurrent use, and silent outside a notebook.
type Live struct {
	mu      sync.Mutex
	id      string
	pending any       // what waits to be shown; nil if nothing
	next    time.Time // no update is shown before
}

// Update shows v (anything that Show takes) in place of what was shown before. Updates that come too
// fast are skipped: at most two are drawn each second, and drawing takes at most a fifth of the time.
func (l *Live) Update(v any) {
	if !gonbui.IsNotebook {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = v
	if time.Now().After(l.next) {
		l.flush()
	}
}

// Done shows the last update if it was skipped, so that the saved notebook ends with it.
func (l *Live) Done() {
	if !gonbui.IsNotebook {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending != nil {
		l.flush()
	}
	gonbui.Sync()
}

// flush draws what is pending; l.mu is held.
func (l *Live) flush() {
	if l.id == "" {
		l.id = "molehill-live-" + gonbui.UniqueId()
	}
	start := time.Now()
	send(l.pending, l.id)
	l.pending = nil
	end := time.Now()
	l.next = end.Add(max(500*time.Millisecond, 4*end.Sub(start)))
}
