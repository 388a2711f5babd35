package accountant

import "fmt"

// Relation says which data sets are neighbours, that is, what a single record's
// worth of difference is. It has no default: the zero value is refused.
type Relation int

const (
	// AddRemove: one record more or less. The size of the data is private.
	AddRemove Relation = iota + 1
	// ReplaceOne: one record changed to any other. The size is public.
	ReplaceOne
	// ZeroOut: one record changed to one that contributes nothing. The size is
	// public.
	ZeroOut
)

var relationNames = map[Relation]string{AddRemove: "add-remove", ReplaceOne: "replace-one", ZeroOut: "zero-out"}

// String returns the relation's name, such as "add-remove".
func (r Relation) String() string {
	if name, ok := relationNames[r]; ok {
		return name
	}
	return fmt.Sprintf("Relation(%d)", int(r))
}

// MarshalText returns the relation's name.
func (r Relation) MarshalText() ([]byte, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a relation's name.
func (r *Relation) UnmarshalText(text []byte) error {
	for relation, name := range relationNames {
		if name == string(text) {
			*r = relation
			return nil
		}
	}
	return fmt.Errorf("accountant: want the relation add-remove, replace-one or zero-out; found %q", text)
}

func (r Relation) validate() error {
	if _, ok := relationNames[r]; !ok {
		return fmt.Errorf("accountant: want the relation AddRemove, ReplaceOne or ZeroOut; found %v", r)
	}
	return nil
}
