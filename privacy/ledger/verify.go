package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"molehill/privacy/ledger/internal/store"
)

// Head is the newest entry: with it, all entries are fixed. Kept outside the
// database it shows what nothing within can show: that the database was
// rewritten as a whole, or replaced by an older copy.
type Head struct {
	Seq  int64
	Hash string
}

// String is what ParseHead reads: "12:ab34…".
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Seq, h.Hash) }

// MarshalText implements encoding.TextMarshaler.
func (h Head) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHead reads a head.
func ParseHead(text string) (Head, error) {
	number, hash, found := strings.Cut(text, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || seq < 0 || (len(hash) == 64) != (seq > 0) {
		return Head{}, fmt.Errorf("ledger: head %q; expected what verify printed: the number of an entry, a colon and 64 hexadecimal digits", text)
	}
	return Head{seq, hash}, nil
}

// Report is what Verify found.
type Report struct {
	Entries  int       `json:"entries"`
	Head     Head      `json:"head"`
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is something that this package would never have written.
type Problem struct {
	Seq  int64  `json:"seq"` // 0: not of a single entry
	What string `json:"what"`
}

// Verify reads the whole ledger anew and reports everything that is wrong with
// it: entries changed, removed, inserted, moved or cut off, budgets exceeded.
// With known, a head of earlier, it also finds that the entry is no longer there.
// The error is not nil only if there is no ledger, or it cannot be read.
func (l *Ledger) Verify(ctx context.Context, known *Head) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, store.Longest)
	defer cancel()
	var report Report
	c := newChain()
	found, err := l.store.Read(ctx, func(tx *sql.Tx) error {
		var err error
		report, err = l.examine(ctx, tx, &c, known)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("ledger: there is no ledger at %s: nothing was ever reserved in it, or it was removed", l.store.Where)
	}
	if err != nil {
		return report, err
	}
	for _, name := range c.names { // now that the database is free: it takes the accountant a while
		if err := c.accounts[name].exceeded(); err != nil {
			report.Problems = append(report.Problems, Problem{0, err.Error()})
		}
	}
	return report, nil
}

// examine reads all entries into c, which is new.
func (l *Ledger) examine(ctx context.Context, tx *sql.Tx, c *chain, known *Head) (r Report, err error) {
	problem := func(seq int64, format string, arguments ...any) {
		r.Problems = append(r.Problems, Problem{seq, fmt.Sprintf(format, arguments...)})
	}
	r.Head.Seq, r.Head.Hash, err = l.store.head(ctx, tx, "")
	tampered, ok := errors.AsType[*TamperedError](err)
	if ok {
		problem(tampered.Seq, "%s", tampered.What)
	} else if err != nil {
		return r, err
	}
	seen := known == nil || known.Seq == 0
	err = l.store.entries(ctx, tx, -1<<63, func(seq int64, body, hash string) error {
		r.Entries++
		before := len(r.Problems)
		if seq != c.seq+1 {
			problem(seq, "it follows entry %d: entries between them were removed, or it was inserted", c.seq)
		}
		if hash != link(c.hash, body) {
			problem(seq, "its hash is not that of its text and the hash before it: it, or the one before, was changed, inserted or moved")
		}
		if known != nil && seq == known.Seq {
			seen = true
			if hash != known.Hash {
				problem(seq, "it is not the entry that was known: the ledger was rewritten")
			}
		}
		e, err := decode(body, hash)
		if err != nil {
			err = &unreadError{err}
		}
		if err == nil && e.Seq != seq {
			problem(seq, "it calls itself entry %d: it was moved", e.Seq)
		}
		if err == nil {
			err = c.take(e)
		}
		if _, ok := errors.AsType[*unreadError](err); ok && len(r.Problems) == before {
			return fmt.Errorf("ledger: %s: entry %d: %w", l.store.Where, seq, err)
		}
		if err != nil {
			problem(seq, "%v", err)
		}
		c.seq, c.hash = seq, hash // whatever was wrong, look at the rest too
		return nil
	})
	if err != nil {
		return r, err
	}
	if !ok && (c.seq != r.Head.Seq || c.hash != r.Head.Hash) {
		problem(c.seq, "the chain ends here, its head is kept as entry %d (%.12s…): entries at the end were removed or added", r.Head.Seq, r.Head.Hash)
	}
	if !seen {
		problem(known.Seq, "the entry that was known is not there: the ledger was cut off, or replaced by an older copy")
	}
	return r, nil
}

// exceeded says what is wrong with what was spent of the budget.
func (a *account) exceeded() error {
	if a.budget == nil {
		return nil
	}
	spent, err := a.spent.epsilon(*a.budget)
	if err == nil && float64(spent) > a.budget.Epsilon*(1+1e-6) { // another version's accountant rounds otherwise
		err = fmt.Errorf("ε = %v is spent", spent)
	}
	if err != nil {
		return fmt.Errorf("the budget of %s, %v: %w", a.budget.Dataset, *a.budget, err)
	}
	return nil
}
