package viz

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"molehill/viz/internal/sheet"
)

// Slider is a number that the reader of a notebook turns.
type Slider struct {
	Name   string
	Values []float64                  // its stops from left to right
	Start  int                        // the stop at which it stands first
	Text   func(value float64) string // how a value is written; nil: with four digits
}

// Explore shows what draw makes of the sliders' values, anything that Show takes,
// and draws anew when a slider moves. It returns when the reader is done, after
// three minutes without a touch, or when the cell is interrupted; until then no
// other cell can run.
//
// The picture at the first stops is shown in any case, with a line that tells the
// values. It is all there is where nobody can move a slider: in a notebook that
// is executed without a Jupyter server, or read from a file. Outside a notebook
// Explore does nothing.
func Explore(draw func(values []float64) any, sliders ...Slider) {
	if !gonbui.IsNotebook {
		return
	}
	defer gonbui.Sync()
	if err := checkSliders(sliders); err != nil {
		send(err, "")
		return
	}
	at := make([]int, len(sliders))
	for i, s := range sliders {
		at[i] = s.Start
	}
	id := gonbui.UniqueId()
	controls, picture := "molehill-sliders-"+id, "molehill-explored-"+id
	steer := func(html string) {
		deliver(&protocol.DisplayData{Data: bundle{protocol.MIMETextHTML: html}, DisplayID: controls})
	}
	steer(told(sliders, at))
	send(draw(valuesAt(sliders, at)), picture)
	if os.Getenv(served) == "" {
		return
	}
	moved := listen("/molehill/" + id)
	steer(sliderHTML(id, sliders))
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	// The first word comes when the browser has drawn the sliders.
	for patience := firstWord; ; patience = untouched {
		var message string
		select {
		case message = <-moved:
		case <-interrupted:
		case <-time.After(patience):
		}
		stops, ok := parseStops(sliders, message)
		if !ok {
			break
		}
		if patience != firstWord { // which tells what is shown already
			at = stops
			send(draw(valuesAt(sliders, at)), picture)
		}
	}
	steer(told(sliders, at))
}

// served is what a Jupyter server sets for its kernels, and programs that execute
// notebooks do not. Without it GoNB would look for a browser, and leave in the
// notebook the script with which it did.
const served = "JPY_SESSION_NAME"

// How long to wait for a browser, of which GoNB takes three seconds to find that
// there is none, and for a hand.
const (
	firstWord = 15 * time.Second
	untouched = 3 * time.Minute
)

func checkSliders(sliders []Slider) error {
	if len(sliders) == 0 {
		return fmt.Errorf("viz: Explore has no sliders: give at least one")
	}
	for _, s := range sliders {
		if len(s.Values) == 0 || s.Start < 0 || s.Start >= len(s.Values) {
			return fmt.Errorf("viz: slider %q starts at stop %d of %d: expected one of its own, counted from 0", s.Name, s.Start, len(s.Values))
		}
	}
	return nil
}

// listen returns what a browser sends to an address. What came while the reader
// was busy is forgotten but for the last.
func listen(address string) <-chan string {
	heard, last := make(chan string, 64), make(chan string, 1)
	comms.Subscribe(address, func(_, message string) { heard <- message })
	go func() {
		for message := range heard {
			select {
			case <-last:
			default:
			}
			last <- message
		}
	}()
	return last
}

// parseStops reads the stops of all sliders, such as "3,0,7", which a browser
// sends; not ok is anything else, and the end.
func parseStops(sliders []Slider, message string) (stops []int, ok bool) {
	fields := strings.Split(message, ",")
	if len(fields) != len(sliders) {
		return nil, false
	}
	for i, field := range fields {
		stop, err := strconv.Atoi(field)
		if err != nil || stop < 0 || stop >= len(sliders[i].Values) {
			return nil, false
		}
		stops = append(stops, stop)
	}
	return stops, true
}

func valuesAt(sliders []Slider, stops []int) []float64 {
	values := make([]float64, len(sliders))
	for i, s := range sliders {
		values[i] = s.Values[stops[i]]
	}
	return values
}

func (s Slider) text(stop int) string {
	v := s.Values[stop]
	if s.Text != nil {
		return s.Text(v)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return sheet.Number(v, 1)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// told says where the sliders stand, in place of the sliders.
func told(sliders []Slider, stops []int) string {
	var parts []string
	for i, s := range sliders {
		parts = append(parts, s.Name+" = "+s.text(stops[i]))
	}
	return "<div>" + escapeHTML(strings.Join(parts, ", ")+". Execute this cell to move its sliders.") + "</div>"
}

//go:embed sliders.html
var slidersText string

var slidersTemplate = template.Must(template.New("sliders").Parse(slidersText))

// sliderHTML is the sliders, and the script that sends their stops.
func sliderHTML(id string, sliders []Slider) string {
	type control struct {
		Name        string
		Last, Start int
		Texts       []string
	}
	var all []control
	for _, s := range sliders {
		c := control{s.Name, len(s.Values) - 1, s.Start, nil}
		for stop := range s.Values {
			c.Texts = append(c.Texts, s.text(stop))
		}
		all = append(all, c)
	}
	var b bytes.Buffer
	data := map[string]any{"ID": "molehill-" + id, "Address": "/molehill/" + id, "Sliders": all}
	if err := slidersTemplate.Execute(&b, data); err != nil {
		return escapeHTML(err.Error())
	}
	return b.String()
}
