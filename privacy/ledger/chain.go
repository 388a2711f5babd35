package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"molehill/privacy/ledger/internal/store"
)

// chain is what has been read of the ledger, and checked. As entries are only
// appended, a reader needs the new ones only.
type chain struct {
	seq      int64
	hash     string
	accounts map[string]*account
	names    []string // of data sets, in order of first use
}

func newChain() chain { return chain{accounts: map[string]*account{}} }

// account returns what there is of a data set, which may be nothing.
func (c *chain) account(dataset string) *account {
	if a, ok := c.accounts[dataset]; ok {
		return a
	}
	return newAccount()
}

// TamperedError says that the ledger is not what this package wrote.
type TamperedError struct {
	Where string
	Seq   int64 // of the first entry that is wrong
	What  string
}

func (e *TamperedError) Error() string {
	return fmt.Sprintf("ledger: %s was tampered with or damaged: entry %d: %s; nothing is reserved from it: restore a backup, see `molehill budget verify`", e.Where, e.Seq, e.What)
}

// unreadError says that an entry is as it was written, for its hash is right, and that
// this program cannot read it.
type unreadError struct{ err error }

func (e *unreadError) Error() string {
	return fmt.Sprintf("this program cannot read it (%v): a newer molehill wrote it, so update this one; nothing was changed", e.err)
}

func (e *unreadError) Unwrap() error { return e.err }

// catchUp reads what was appended since the last time, and checks that it
// continues the chain and ends at its head.
func (c *chain) catchUp(ctx context.Context, d database, tx *sql.Tx, lock string) error {
	seq, hash, err := d.head(ctx, tx, lock)
	if err != nil {
		return err
	}
	err = d.entries(ctx, tx, c.seq, func(seq int64, body, hash string) error {
		wrong := func(what string) error { return &TamperedError{d.Where, seq, what} }
		e, err := decode(body, hash)
		switch {
		case seq != c.seq+1:
			return wrong(fmt.Sprintf("it follows entry %d: entries between them were removed", c.seq))
		case hash != link(c.hash, body):
			return wrong("its hash is not that of its text and the hash before it: it was changed, inserted or moved")
		case err != nil:
			return fmt.Errorf("ledger: %s: entry %d: %w", d.Where, seq, &unreadError{err})
		case e.Seq != seq:
			return wrong(fmt.Sprintf("it calls itself entry %d: it was moved", e.Seq))
		}
		err = c.take(e)
		if _, ok := errors.AsType[*unreadError](err); ok {
			return fmt.Errorf("ledger: %s: entry %d: %w", d.Where, seq, err)
		}
		if err != nil {
			return wrong(err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	if seq != c.seq || hash != c.hash {
		return &TamperedError{d.Where, c.seq, fmt.Sprintf("the chain ends here, its head is kept as entry %d (%.12s…): entries at the end were removed or added", seq, hash)}
	}
	return nil
}

// take adds an entry to the account that it belongs to.
func (c *chain) take(e Entry) error {
	a, known := c.accounts[e.Dataset]
	if !known {
		a = newAccount()
	}
	if err := a.add(e); err != nil {
		return err
	}
	if !known {
		c.accounts[e.Dataset] = a
		c.names = append(c.names, e.Dataset)
	}
	c.seq, c.hash = e.Seq, e.Hash
	return nil
}

// readable returns an error unless the entry's text will be taken for the entry: what
// nobody can read back must not be written, since nothing could be reserved after it.
func (c *chain) readable(e Entry, body string) error {
	again, err := decode(body, e.Hash)
	if err == nil {
		_, err = c.account(again.Dataset).check(again)
	}
	if err == nil && (again.Kind != e.Kind || again.Dataset != e.Dataset || again.ID != e.ID) {
		err = fmt.Errorf("it would be of %q, %q", again.Dataset, again.ID)
	}
	if err != nil {
		return fmt.Errorf("ledger: the %s of %q could not be read back: %w; nothing was recorded", e.Kind, e.Dataset, err)
	}
	return nil
}

// append writes the entry that decide returns, which sees everything written
// before and keeps all other writers out meanwhile. An entry with a number is
// there already, and nothing is written.
func (l *Ledger) append(ctx context.Context, decide func(*chain) (Entry, error)) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, store.Longest)
	defer cancel()
	if l.chain.seq > 0 && l.store.Missing() {
		return Entry{}, l.gone()
	}
	var e Entry
	var body []byte
	err := l.store.Write(ctx, func(tx *sql.Tx) error {
		if err := l.chain.catchUp(ctx, l.store, tx, l.store.Lock); err != nil {
			return err
		}
		var err error
		if e, err = decide(&l.chain); err != nil || e.Seq != 0 {
			return err
		}
		e.Seq, e.Time = l.chain.seq+1, time.Now().UTC()
		if body, err = json.Marshal(e); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		e.Hash = link(l.chain.hash, string(body))
		if err := l.chain.readable(e, string(body)); err != nil {
			return err
		}
		return l.store.insert(ctx, tx, e.Seq, string(body), e.Hash)
	})
	switch {
	case err != nil:
		return Entry{}, err
	case body == nil: // it was there
		return e.clone(), nil
	}
	if e, err = decode(string(body), e.Hash); err == nil {
		err = l.chain.take(e)
	}
	return e.clone(), err
}

// look lets see read everything there is.
func (l *Ledger) look(ctx context.Context, see func(*chain) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, store.Longest)
	defer cancel()
	found, err := l.store.Read(ctx, func(tx *sql.Tx) error { return l.chain.catchUp(ctx, l.store, tx, "") })
	switch {
	case err != nil:
		return err
	case !found && l.chain.seq > 0:
		return l.gone()
	}
	return see(&l.chain)
}

func (l *Ledger) gone() error { return &TamperedError{l.store.Where, 1, "the whole ledger is gone"} }
