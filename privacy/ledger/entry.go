package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// Budget is the most that all runs on a data set may spend together.
type Budget struct {
	Dataset  string           `json:"-"` // as the experiments know it
	Relation privacy.Relation `json:"relation"`
	Epsilon  float64          `json:"epsilon"`            // finite, above 0
	Delta    float64          `json:"delta"`              // in (0, 1)
	FromNow  bool             `json:"from_now,omitempty"` // what was reserved before does not count, unless its run may still release
	Carries  bool             `json:"carries,omitempty"`  // those runs do count (Create says so; the first versions' did not)
	// Order makes the budget a Rényi filter of that order (accountant.FilterOrder): what it
	// keeps is proved whatever has led to the noise, the steps and the samples of a run. 0
	// composes as tightly as can be, for runs that were chosen beforehand.
	Order float64 `json:"order,omitempty"`
	Note  string  `json:"-"`
}

func (b Budget) String() string {
	text := fmt.Sprintf("ε = %v, δ = %g under %v", privacy.Epsilon(b.Epsilon), b.Delta, b.Relation)
	if b.Order != 0 {
		text += fmt.Sprintf(", kept by a Rényi filter of order %.4g", b.Order)
	}
	return text
}

// accountant composes what the budget pays for. It has to be sound for whatever is asked
// of the ledger.
func (b Budget) accountant() accountant.Accountant {
	if b.Order != 0 {
		return accountant.RDP{Orders: []float64{b.Order}}
	}
	return accountant.Tightest{}
}

func (b Budget) check() error {
	if err := (privacy.Budget{Epsilon: b.Epsilon, Delta: b.Delta}).Check(); err != nil {
		return err
	}
	if math.IsInf(b.Epsilon, 1) {
		return errors.New("ledger: a budget of ε = ∞ keeps nothing; give a finite one, or none at all")
	}
	if _, err := b.Relation.MarshalText(); err != nil {
		return err
	}
	if b.Order != 0 && !(b.Order > 1 && accountant.FilterRoom(b.Order, b.Epsilon, b.Delta) > 0) {
		return fmt.Errorf("ledger: a Rényi filter of order %v has no room for ε = %v at δ = %g; take the order of accountant.FilterOrder", b.Order, b.Epsilon, b.Delta)
	}
	return checkName("data set", b.Dataset)
}

// Reservation is what a run is about to release.
type Reservation struct {
	Dataset string
	// ID is the run's and its noise key's: another key is other noise, which is
	// paid for again.
	ID       string
	Event    accountant.Event // all releases of the run
	Relation privacy.Relation
	// Research marks noise that anybody can recompute from a seed: against a
	// budget it protects nothing, whatever the event says.
	Research bool
	Note     string
}

// entry checks r.
func (r Reservation) entry() (Entry, error) {
	if err := errors.Join(checkName("data set", r.Dataset), checkName("reservation", r.ID)); err != nil {
		return Entry{}, err
	}
	if _, err := r.Relation.MarshalText(); err != nil {
		return Entry{}, err
	}
	event, err := accountant.Encode(r.Event)
	return Entry{Kind: Reserved, Dataset: r.Dataset, ID: r.ID, Event: event, Relation: r.Relation, Research: r.Research, Note: r.Note}, err
}

func checkName(what, name string) error {
	// What is no text would be another name once it is written down.
	if name == "" || len(name) > 200 || strings.TrimSpace(name) != name || !utf8.ValidString(name) {
		return fmt.Errorf("ledger: the %s is called %.40q; expected a name of at most 200 bytes of UTF-8, without space around it", what, name)
	}
	return nil
}

// Kind says what an entry records.
type Kind string

// The kinds of entries.
const (
	Declared  Kind = "budget"      // a data set got its budget
	Reserved  Kind = "reservation" // a run is about to release, and has paid
	Committed Kind = "commit"      // a run is complete
)

// Entry is a line of the ledger. Its JSON is what the ledger stores and hashes.
type Entry struct {
	Seq      int64            `json:"seq"` // from 1 on, over all data sets
	Time     time.Time        `json:"time"`
	Kind     Kind             `json:"kind"`
	Dataset  string           `json:"dataset"`
	Budget   *Budget          `json:"budget,omitempty"`
	ID       string           `json:"id,omitempty"`
	Event    json.RawMessage  `json:"event,omitempty"` // see accountant.Decode
	Relation privacy.Relation `json:"relation,omitempty"`
	Research bool             `json:"research,omitempty"`
	Ended    bool             `json:"ended,omitempty"` // of a commit: a person has said that the run is over
	Note     string           `json:"note,omitempty"`
	// Epsilon is what all that counts came to after this entry, at the budget's
	// δ, as reckoned when it was written; nil where there was no budget yet, and
	// for commits.
	Epsilon *privacy.Epsilon `json:"epsilon,omitempty"`

	Hash string `json:"-"` // SHA-256, hexadecimal
}

// clone shares no memory with e: what a caller does to an entry is not to change what the
// ledger goes by.
func (e Entry) clone() Entry {
	e.Budget, e.Epsilon = clone(e.Budget), clone(e.Epsilon)
	e.Event = slices.Clone(e.Event)
	return e
}

func clone[T any](of *T) *T {
	if of == nil {
		return nil
	}
	copied := *of
	return &copied
}

// same returns nil if other is the reservation e over again.
func (e Entry) same(other Entry) error {
	if bytes.Equal(e.Event, other.Event) && e.Relation == other.Relation && e.Research == other.Research {
		return nil
	}
	return fmt.Errorf("ledger: %s is reserved for %s under %v (research: %v), and is asked for %s under %v (research: %v): the same noise on other queries would give away their difference; delete the run and pay for a new one",
		e.ID, e.Event, e.Relation, e.Research, other.Event, other.Relation, other.Research)
}

// reservation is the inverse of Reservation.entry.
func (e Entry) reservation() (Reservation, error) {
	event, err := accountant.Decode(e.Event)
	return Reservation{Dataset: e.Dataset, ID: e.ID, Event: event, Relation: e.Relation, Research: e.Research, Note: e.Note}, err
}

// decode reads an entry's stored text.
func decode(body, hash string) (Entry, error) {
	e := Entry{Hash: hash}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return e, err
	}
	if e.Budget != nil {
		e.Budget.Dataset, e.Budget.Note = e.Dataset, e.Note
	}
	return e, nil
}

// link is the hash of an entry's text in a chain: SHA-256 of the hash before it
// and the text, one line each.
func link(previous, body string) string {
	sum := sha256.Sum256([]byte(previous + "\n" + body))
	return hex.EncodeToString(sum[:])
}
