package experimenttest

import (
	"encoding/json"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/sampling"
)

// ReadsValues checks that a game can be made of a statement as a run keeps it, whatever
// its words on samples are, and that one that has nothing but these is refused kindly.
func ReadsValues(t *testing.T, s privacy.Statement, game func(privacy.Statement) (audit.Game, error)) {
	t.Helper()
	words := s.Sampler
	s.Sampler = "a few of many"
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var kept privacy.Statement
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if _, err := game(kept); err != nil {
		t.Errorf("%s, said in other words: %v", words, err)
	}
	kept.Sampler, kept.Sampling = words, sampling.Scheme{}
	if _, err := game(kept); err == nil || !strings.Contains(err.Error(), "in words alone") || !strings.Contains(err.Error(), "audit it with the version that made it") {
		t.Errorf("%s, in words alone: %v", words, err)
	}
}
