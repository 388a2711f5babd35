package cli

import (
	"sync"
	"time"

	"molehill/viz"
)

// quiet is how long work goes on before anybody is told how far it is.
const quiet = 2 * time.Second

// Progress tells people on a terminal how far work of some steps is, unless it is done
// within two seconds. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	steps int // that are made
	late  *time.Timer
	bar   bar // nil before it is late, and after all
	done  bool
}

type bar interface {
	Set(step int, note string)
	Done()
}

// NewProgress tells of so many steps under a title.
func NewProgress(title string, steps int) *Progress {
	return progress(func() bar { return viz.NewProgress(title, steps) })
}

func progress(open func() bar) *Progress {
	p := &Progress{}
	p.late = time.AfterFunc(quiet, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.done {
			p.bar = open()
			p.bar.Set(p.steps, "")
		}
	})
	return p
}

// Step says that one more is made.
func (p *Progress) Step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps++
	if p.bar != nil {
		p.bar.Set(p.steps, "")
	}
}

// Done ends what is told.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	p.late.Stop()
	if p.bar != nil {
		p.bar.Done()
	}
	p.bar = nil
}
