package viz

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

var two = []Slider{
	{Name: "σ", Values: []float64{0.5, 1, 2}, Start: 1},
	{Name: "T", Values: []float64{10, 1000}, Text: func(v float64) string { return fmt.Sprintf("<%g>", v) }},
}

func said(values []float64) any { return fmt.Sprint("drawn for ", values) }

// texts are what the outputs of a cell say, as HTML or as text.
func texts(outputs []*protocol.DisplayData) (all []string) {
	for _, o := range outputs {
		if html, ok := o.Data[protocol.MIMETextHTML].(string); ok {
			all = append(all, html)
		} else if text, ok := o.Data[protocol.MIMETextPlain].(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func TestExploreWithoutAServer(t *testing.T) {
	t.Setenv(served, "")
	start := time.Now()
	got := texts(inNotebook(t, func() { Explore(said, two...) }))
	want := []string{"<div>σ = 1, T = &lt;10&gt;. Execute this cell to move its sliders.</div>", "drawn for [1 10]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("shown: %q, want %q", got, want)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v where nobody can answer", took)
	}
}

var address = regexp.MustCompile(`comm\.send\("([^"]+)", inputs`)

// browse is the browser's part: it waits for the sliders and sends messages to
// their address, each when the one before was answered.
func browse(messages ...string) error {
	k, err := startKernel()
	if err != nil {
		return err
	}
	to := ""
	for deadline := time.Now().Add(5 * time.Second); to == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		k.mu.Lock()
		for _, text := range texts(k.outputs) {
			if found := address.FindStringSubmatch(text); found != nil {
				to = strings.ReplaceAll(found[1], `\/`, "/")
			}
		}
		k.mu.Unlock()
	}
	if to == "" {
		return fmt.Errorf("no sliders were shown")
	}
	for _, m := range messages {
		gonbui.OnCommValueUpdate(&protocol.CommValue{Address: to, Value: m})
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func TestExploreFollowsTheSliders(t *testing.T) {
	t.Setenv(served, "lesson.ipynb")
	browser := make(chan error, 1)
	outputs := inNotebook(t, func() {
		go func() { browser <- browse("1,0", "2,0", "2,1", "done") }()
		Explore(said, two...)
	})
	if err := <-browser; err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, o := range outputs {
		if strings.HasPrefix(o.DisplayID, "molehill-explored-") {
			drawn = append(drawn, texts([]*protocol.DisplayData{o})...)
		}
	}
	if want := "[drawn for [1 10] drawn for [2 10] drawn for [2 1000]]"; fmt.Sprint(drawn) != want {
		t.Errorf("%v, want %v", drawn, want)
	}
	got := texts(outputs)
	if last := got[len(got)-1]; !strings.Contains(last, "σ = 2, T = &lt;1000&gt;. Execute") {
		t.Errorf("it ends with %q", last)
	}
}

func TestExploreRefuses(t *testing.T) {
	for want, sliders := range map[string][]Slider{
		"no sliders":                   nil,
		`&#34;q&#34; starts at stop 3`: {{Name: "q", Values: []float64{1}, Start: 3}},
		"stop 0 of 0":                  {{Name: "q"}},
	} {
		got := strings.Join(texts(inNotebook(t, func() { Explore(said, sliders...) })), " ")
		if !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}

func TestParseStops(t *testing.T) {
	for message, want := range map[string]bool{"0,1": true, "2,0": true, "": false, "done": false, "0": false, "0,1,2": false, "3,0": false, "-1,0": false, "a,b": false, "1e9,0": false} {
		if _, ok := parseStops(two, message); ok != want {
			t.Errorf("stops %q: %v, want %v", message, ok, want)
		}
	}
}

func TestSlidersEscapeWhatTheyShow(t *testing.T) {
	html := sliderHTML("7", []Slider{{Name: `</script><b>"`, Values: []float64{1, 2}, Text: func(float64) string { return "<i>" }}})
	if strings.Contains(html, "<b>") || strings.Contains(html, "<i>") || strings.Count(html, "</script>") != 1 {
		t.Errorf("markup got through:\n%s", html)
	}
}
