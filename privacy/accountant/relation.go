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
	// KEnd: one record changed to any other of its category (004, Definition 2.1).
	// Which record is of which category, and so how many each has, is public.
	KEnd
)

var relationNames = map[Relation]string{AddRemove: "add-remove", ReplaceOne: "replace-one", ZeroOut: "zero-out", KEnd: "k-end"}

// RelationNames lists the relations, for people.
const RelationNames = "add-remove, replace-one, zero-out or k-end"

// Replaces reports whether a record becomes another one, which is as far as two
// contributions can be apart.
func (r Relation) Replaces() bool { return r == ReplaceOne || r == KEnd }

// Within reports whether all neighbours under r are neighbours under other, so that
// what is proved under other holds under r. Under k-end those that agree in the
// categories of all that is composed are meant.
func (r Relation) Within(other Relation) bool { return r == other || r == KEnd && other == ReplaceOne }

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
	return fmt.Errorf("accountant: want the relation %s; found %q", RelationNames, text)
}

func (r Relation) validate() error {
	if _, ok := relationNames[r]; !ok {
		return fmt.Errorf("accountant: want the relation %s; found %v", RelationNames, r)
	}
	return nil
}
