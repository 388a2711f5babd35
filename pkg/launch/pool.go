package launch

import (
	"context"
	"sync"

	"molehill/pkg/run"
)

// pool has the processes that compute the runs of a sweep. A process that has computed
// one takes another: it has opened its backend, compiled and read what runs share.
type pool struct {
	local Local
	mu    sync.Mutex
	idle  []*worker
}

// mostRuns is how many runs a process computes, so that what it does not give back stays
// bounded.
const mostRuns = 24

// resume is Local.Resume with a process of the pool, which it returns for back; nil if
// the run needs none.
func (p *pool) resume(ctx context.Context, r *run.Run) (*worker, error) {
	if needed, err := needed(ctx, r); !needed {
		return nil, err
	}
	for w := p.take(); w != nil; w = p.take() {
		if w.give(r) == nil {
			if _, err := w.await(ctx, r); err == nil || !w.gone || ctx.Err() != nil {
				return w, err
			}
		}
		// What ended it before it could begin, if anything, will end a new one too.
		w.dismiss()
	}
	w, err := p.local.spawn(ctx, r.LogPath(), true, "compute", "--more", r.Dir)
	if err == nil {
		_, err = w.await(ctx, r)
	}
	return w, err
}

func (p *pool) take() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	w := p.idle[last]
	p.idle = p.idle[:last]
	return w
}

// back gives the pool a process whose run has come to rest.
func (p *pool) back(ctx context.Context, w *worker) {
	if w == nil {
		return
	}
	if !w.idle {
		select {
		case e, open := <-w.ends:
			_ = w.told(e, open) // the run itself says how it ended
		case <-ctx.Done():
		}
	}
	if !w.idle || w.gone || w.runs >= mostRuns {
		w.dismiss()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
}

// dismiss ends the processes that are idle.
func (p *pool) dismiss() {
	for w := p.take(); w != nil; w = p.take() {
		w.dismiss()
	}
}
