package viz

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"molehill/viz/internal/sheet"
)

// Progress shows how far a long computation is, with rate and time left: in a notebook as one line that
// changes in place and ends as a calm summary, on a terminal as a bar on standard error, and elsewhere
// (a pipe, a test) not at all. It is safe for concurrent use.
type Progress struct {
	mu       sync.Mutex
	title    string
	total    int // 0 if unknown
	step     int
	note     string
	created  time.Time
	began    time.Time // of the first Set
	first    int       // its step: a resumed run did not compute what came before
	next     time.Time // nothing is shown before
	finished bool

	id  string                   // of the notebook's output, "" elsewhere
	bar *progressbar.ProgressBar // of the terminal, nil elsewhere
	// room is how many columns of the terminal there are for words; 0 for as many as they take.
	room int
}

// progressInterval allows twelve updates each second: a little more than a run is looked at, so that no word
// of one is passed over before a long silence.
const progressInterval = 80 * time.Millisecond

// NewProgress starts to show the progress of total steps; 0 or less means that their number is unknown.
func NewProgress(title string, total int) *Progress {
	p := &Progress{title: title, total: max(total, 0), first: -1, created: time.Now()}
	switch {
	case gonbui.IsNotebook:
		p.id = "molehill-progress-" + gonbui.UniqueId()
	case isTerminal(os.Stderr):
		length := total
		if total <= 0 {
			length = -1
		}
		width := 24
		if columns, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && columns > 0 {
			width, p.room = divide(columns, p.total)
		}
		p.bar = progressbar.NewOptions(length,
			progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetDescription(p.fitting()),
			progressbar.OptionSetWidth(width),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(progressInterval),
			progressbar.OptionClearOnFinish(),
		)
		if total > 0 {
			progressbar.OptionShowCount()(p.bar)
			progressbar.OptionShowIts()(p.bar)
		}
	}
	return p
}

// divide shares the columns of a terminal between a bar and words, beside what the bar says in numbers:
// a line that is longer than the terminal leaves pieces of itself behind.
func divide(columns, total int) (bar, words int) {
	numbers := len(" 100% || (/, 1234 it/s) [12m34s:12m34s] ") + 2*len(strconv.Itoa(total))
	left := max(columns-numbers, 0)
	bar = min(max(left/3, 4), 24)
	return bar, max(left-bar, 6)
}

// fitting is the line's words: the note goes where there is no room for it, and then the title's end.
func (p *Progress) fitting() string {
	words := oneLine(join(p.title, p.count(), p.note))
	if p.room > 0 && columnsOf(words) > p.room {
		words = oneLine(join(p.title, p.count()))
	}
	if p.room > 0 && columnsOf(words) > p.room {
		runes := []rune(words)
		for len(runes) > 0 && columnsOf(string(runes)) > p.room-1 {
			runes = runes[:len(runes)-1]
		}
		words = string(runes) + "…"
	}
	return words
}

// isTerminal reports whether a person may be watching the file.
func isTerminal(file *os.File) bool {
	return term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// Set reports that step steps are done, with a note on how it goes ("sliced W₂ 0.012"). It is cheap
// enough for every step.
func (p *Progress) Set(step int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	now := time.Now()
	if p.first < 0 {
		p.first, p.began = step, now
	}
	p.step, p.note = step, note
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressInterval)
	switch {
	case p.id != "":
		deliver(p.running(now))
	case p.bar != nil:
		p.bar.Describe(p.fitting())
		_ = p.bar.Set(min(p.step, p.limit())) // standard error may be closed; the computation goes on
	}
}

// limit is the step at which a bar would end itself, which is Done's to do.
func (p *Progress) limit() int {
	if p.total == 0 {
		return math.MaxInt
	}
	return p.total - 1
}

// Done ends the display with a summary, which a saved notebook keeps: how many steps were done, in what
// time, and the last note.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	p.finished = true
	summary := p.summary(time.Now())
	switch {
	case p.id != "":
		deliver(&protocol.DisplayData{
			Data: bundle{
				protocol.MIMETextHTML:     "<div>" + escapeHTML(summary) + "</div>",
				protocol.MIMETextMarkdown: EscapeMarkdown(summary),
				protocol.MIMETextPlain:    summary,
			},
			DisplayID: p.id,
		})
		gonbui.Sync()
	case p.bar != nil:
		_ = p.bar.Clear()
		fmt.Fprintln(os.Stderr, printable(summary))
	}
}

// running is the line while steps are made.
func (p *Progress) running(now time.Time) *protocol.DisplayData {
	status := p.status(now)
	bar := ""
	if p.total > 0 {
		bar = fmt.Sprintf(" <progress value=\"%d\" max=\"%d\" style=\"width:12em;vertical-align:middle\"></progress> ", min(p.step, p.total), p.total)
	}
	return &protocol.DisplayData{
		Data: bundle{
			protocol.MIMETextHTML:  "<div><b>" + escapeHTML(p.title) + "</b>" + bar + " " + escapeHTML(status) + "</div>",
			protocol.MIMETextPlain: join(p.title, status),
		},
		DisplayID: p.id,
	}
}

// status says how far, how fast and how much longer.
func (p *Progress) status(now time.Time) string {
	count := p.count()
	if p.total > 0 {
		count = fmt.Sprintf("%d of %d", p.step, p.total)
	}
	speed, left := "", ""
	elapsed := now.Sub(p.began).Seconds()
	if made := p.step - p.first; made > 0 && elapsed > 0.2 {
		rate := float64(made) / elapsed
		speed = significantly(rate) + "/s"
		if rate < 0.5 {
			speed = significantly(1/rate) + " s each"
		}
		if p.total > p.step {
			left = duration(float64(p.total-p.step)/rate) + " left"
		}
	}
	return join(count, speed, left, p.note)
}

// count is the number of steps where nobody knows of how many, and "" where none is counted: then the note
// says how it goes.
func (p *Progress) count() string {
	if p.total > 0 || p.step == 0 {
		return ""
	}
	return strconv.Itoa(p.step)
}

// summary is the last line.
func (p *Progress) summary(now time.Time) string {
	took := duration(now.Sub(p.created).Seconds())
	switch {
	case p.total > p.step:
		return join(p.title, fmt.Sprintf("stopped at %d of %d in %s", p.step, p.total, took), p.note)
	case p.step == 0:
		return join(p.title, took, p.note)
	}
	return join(p.title, sheet.Count(p.step, "step")+" in "+took, p.note)
}

// join puts dots between the parts that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

// significantly writes a rate with two digits or more.
func significantly(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// duration writes seconds for people: "0.4 s", "41 s", "3 min 5 s", "2 h 10 min".
func duration(seconds float64) string {
	switch {
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 99.5:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 3600:
		whole := int(seconds + 0.5)
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	case seconds < 1e7:
		minutes := int(seconds/60 + 0.5)
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return "months"
}
