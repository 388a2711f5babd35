package accountant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
)

// node is an event in JSON: the kind, and the fields that this kind has.
type node struct {
	Kind            string   `json:"kind"`
	NoiseMultiplier *float64 `json:"noise_multiplier,omitempty"`
	Epsilon         *float64 `json:"epsilon,omitempty"`
	Rate            *float64 `json:"rate,omitempty"`
	Size            *int     `json:"size,omitempty"`
	Population      *int     `json:"population,omitempty"`
	Count           *int     `json:"count,omitempty"`
	Mean            *float64 `json:"mean,omitempty"`
	Shape           *float64 `json:"shape,omitempty"` // none for a Poisson number of runs
	What            *string  `json:"what,omitempty"`
	Event           *node    `json:"event,omitempty"`
	Events          []*node  `json:"events,omitempty"`
}

// Encode returns an event as JSON, for records and ledgers. It refuses what
// Validate does.
func Encode(e Event) ([]byte, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	return json.Marshal(encode(e))
}

// encode turns a valid event into a node.
func encode(e Event) *node {
	switch e := e.(type) {
	case Gaussian:
		return &node{Kind: "gaussian", NoiseMultiplier: &e.NoiseMultiplier}
	case Laplace:
		return &node{Kind: "laplace", NoiseMultiplier: &e.NoiseMultiplier}
	case Pure:
		return &node{Kind: "pure", Epsilon: &e.Epsilon}
	case PoissonSampled:
		return &node{Kind: "poisson_sampled", Rate: &e.Rate, Event: encode(e.Event)}
	case FixedSizeSampled:
		return &node{Kind: "fixed_size_sampled", Size: &e.Size, Population: &e.Population, Event: encode(e.Event)}
	case Composed:
		n := &node{Kind: "composed"}
		for _, part := range e.Events {
			n.Events = append(n.Events, encode(part))
		}
		return n
	case SelfComposed:
		return &node{Kind: "self_composed", Count: &e.Count, Event: encode(e.Event)}
	case PostProcessed:
		return &node{Kind: "post_processed", What: &e.What, Event: encode(e.Event)}
	case RepeatAndSelect:
		n := &node{Kind: "repeat_and_select", Mean: &e.Mean, Event: encode(e.Event)}
		if !math.IsInf(e.Shape, 1) {
			n.Shape = &e.Shape
		}
		return n
	}
	return &node{Kind: "non_private"}
}

// Decode reads what Encode wrote. It refuses unknown kinds and fields, so that no
// part of a mechanism is overlooked, and what Validate refuses.
func Decode(text []byte) (Event, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var n node
	if err := decoder.Decode(&n); err != nil {
		return nil, fmt.Errorf("accountant: not an event in JSON: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("accountant: something follows the event in JSON; want one event")
	}
	e, err := n.decode()
	if err != nil {
		return nil, err
	}
	if err := Validate(e); err != nil {
		return nil, err
	}
	// A field that is missing would be taken for 0, and one too many be ignored.
	if !reflect.DeepEqual(&n, encode(e)) {
		return nil, fmt.Errorf("accountant: an event in JSON has fields missing, or more than %v has: %.200s", e, text)
	}
	return e, nil
}

// decode turns a node into an event, which may be invalid.
func (n *node) decode() (e Event, err error) {
	if n == nil {
		return nil, fmt.Errorf("accountant: an event in JSON misses the event that it is made of")
	}
	inner := func() (part Event) {
		if err == nil {
			part, err = n.Event.decode()
		}
		return part
	}
	switch n.Kind {
	case "gaussian":
		e = Gaussian{value(n.NoiseMultiplier)}
	case "laplace":
		e = Laplace{value(n.NoiseMultiplier)}
	case "pure":
		e = Pure{value(n.Epsilon)}
	case "poisson_sampled":
		e = PoissonSampled{value(n.Rate), inner()}
	case "fixed_size_sampled":
		e = FixedSizeSampled{value(n.Size), value(n.Population), inner()}
	case "composed":
		var c Composed
		for _, part := range n.Events {
			event, err := part.decode()
			if err != nil {
				return nil, err
			}
			c.Events = append(c.Events, event)
		}
		e = c
	case "self_composed":
		e = SelfComposed{inner(), value(n.Count)}
	case "post_processed":
		e = PostProcessed{inner(), value(n.What)}
	case "repeat_and_select":
		shape := math.Inf(1)
		if n.Shape != nil {
			shape = *n.Shape
		}
		e = RepeatAndSelect{inner(), value(n.Mean), shape}
	case "non_private":
		e = NonPrivate{}
	default:
		err = fmt.Errorf("accountant: unknown kind of event %q in JSON; a newer version may know it", n.Kind)
	}
	return e, err
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
