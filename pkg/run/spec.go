package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
)

// Spec is everything that determines a run: two runs with equal specs are the
// same run, and what is not in here (backend, machine, time of day) must not
// change what is computed, or is recorded as [Provenance].
type Spec struct {
	Experiment string          `json:"experiment"` // registered name, e.g. "dpswflow-r"
	Version    string          `json:"version"`    // the experiment's version; changes when its results change
	Preset     string          `json:"preset"`     // "quick", "paper"
	Seed       uint64          `json:"seed"`       // of everything random but the noise of a release; see Run.Key
	Research   bool            `json:"research"`   // noise from Seed: repeatable by anyone, hence no protection
	Config     json.RawMessage `json:"config"`     // the experiment's own settings; nothing means {}

	// Ledger is where the run is to pay for what it releases, as ledger.Place called it
	// when the run was first asked for. Asked for elsewhere it is the same run, so it is
	// no part of the ID; but it pays there and nowhere else.
	Ledger string `json:"-"`
}

// experimentName keeps IDs usable as folder names on every file system.
var experimentName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// ID names the run: the experiment, and 12 hexadecimal digits (48 bits) of the
// SHA-256 of the spec in canonical JSON. The order of keys, white space and the
// spelling of numbers (1, 1.0, 1e0) in Config do not matter.
func (s Spec) ID() (string, error) {
	if !experimentName.MatchString(s.Experiment) {
		return "", fmt.Errorf("run: experiment %q cannot name a run: expected lower-case letters, digits, '.', '_' or '-', at most 64, the first a letter or digit", s.Experiment)
	}
	if config := bytes.TrimSpace(s.Config); len(config) == 0 || string(config) == "null" {
		s.Config = json.RawMessage("{}")
	}
	config, err := canonical(s.Config)
	if err != nil {
		return "", fmt.Errorf("run: config of %s: %w", s.Experiment, err)
	}
	s.Config = config
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("run: spec of %s: %w", s.Experiment, err)
	}
	sum := sha256.Sum256(text)
	return s.Experiment + "-" + hex.EncodeToString(sum[:6]), nil
}

// canonical rewrites a JSON text so that equal values have equal texts.
func canonical(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("expected JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one JSON value, found more text behind it")
	}
	value, err := normalise(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value) // sorts the keys of maps
}

// normalise gives each number in a decoded JSON value its one spelling.
func normalise(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return normaliseNumber(v)
	case []any:
		for i := range v {
			if v[i], err = normalise(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = normalise(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// normaliseNumber keeps integers exact as far as Go's 64-bit types hold them
// (a seed needs all its digits) and spells everything else as the shortest
// decimal that reads back as the same float64.
func normaliseNumber(n json.Number) (json.Number, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10)), nil
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return json.Number(strconv.FormatUint(u, 10)), nil
	}
	f, err := n.Float64()
	if err != nil {
		return "", fmt.Errorf("number %.40s is beyond float64", n)
	}
	switch {
	case f == 0: // also -0
		return "0", nil
	case f == math.Trunc(f) && math.Abs(f) < 1e21:
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), nil // as integers are spelled
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}
