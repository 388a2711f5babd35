package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Kind is a kind of plug-in and all that this program has of it.
type Kind struct {
	Kind    string   `json:"kind"` // plural, "data sets"
	Plugins []Entry  `json:"plugins"`
	Faults  []string `json:"faults,omitempty"` // why others were left out
}

// Entry is a plug-in as a catalogue shows it.
type Entry struct {
	Info
	Origin Origin `json:"origin"`
	// Defaults are the settings by preset, each a JSON object; "default" where
	// there are no presets.
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
	Meanings map[string]string          `json:"meanings,omitempty"` // of settings, by name
	Unread   []string                   `json:"unread,omitempty"`   // settings that it has and refuses to have changed
	Suited   []Suited                   `json:"suited,omitempty"`   // defaults that are others for some data sets
	Fault    string                     `json:"fault,omitempty"`    // why there are no defaults
	Plugin   Plugin                     `json:"-"`                  // itself, in the program that has it
}

// Suited are the defaults that are others for a data set, by preset and name.
type Suited struct {
	Dataset  string                                `json:"dataset"`
	Defaults map[string]map[string]json.RawMessage `json:"defaults"`
}

// NoPreset is the name in Entry.Defaults of the settings of what has no presets.
const NoPreset = "default"

// registries are all that have something registered.
var registries struct {
	mu  sync.Mutex
	all []listed
}

type listed interface {
	Catalogue() Kind
	Faults() []error
}

func announce(r listed) {
	registries.mu.Lock()
	defer registries.mu.Unlock()
	registries.all = append(registries.all, r)
}

// order is that of catalogues: what people run, what goes in, what measures.
var order = []string{"experiments", "sweeps", "estimators", "data sets", "models", "metrics", "classifiers", "accountants"}

// Faults returns what was left out of all registries of this program.
func Faults() (faults []error) {
	registries.mu.Lock()
	defer registries.mu.Unlock()
	for _, r := range registries.all {
		faults = append(faults, r.Faults()...)
	}
	return faults
}

// Catalogue lists all that this program has registered, kind by kind.
func Catalogue() []Kind {
	registries.mu.Lock()
	all := slices.Clone(registries.all)
	registries.mu.Unlock()
	kinds := make([]Kind, len(all))
	for i, r := range all {
		kinds[i] = r.Catalogue()
	}
	place := func(k Kind) int {
		if i := slices.Index(order, k.Kind); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(kinds, func(a, b Kind) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return kinds
}

// Catalogue lists the plug-ins of a kind, by name.
func (r *Registry[T]) Catalogue() Kind {
	k := Kind{Kind: r.Kind + "s", Plugins: []Entry{}}
	for _, p := range r.all() { // unlocked: a plug-in may look others up
		e := Entry{Info: p.info, Origin: p.origin, Plugin: p.plugin}
		err := Guard(r.Kind, p.info.Name, "its default settings", func() (err error) {
			e.Defaults, e.Meanings, err = r.defaults(p.plugin)
			return err
		})
		if err != nil {
			e.Fault = err.Error()
		}
		k.Plugins = append(k.Plugins, e)
	}
	for _, fault := range r.Faults() {
		k.Faults = append(k.Faults, fault.Error())
	}
	return k
}

// defaults are a plug-in's settings by preset, and what they mean as far as it says so.
func (r *Registry[T]) defaults(p T) (texts map[string]json.RawMessage, meanings map[string]string, err error) {
	if r.Defaults == nil {
		texts, err = fields(p)
		return texts, nil, err
	}
	values, err := r.Defaults(p)
	if err != nil {
		return nil, nil, err
	}
	texts = make(map[string]json.RawMessage, len(values))
	for preset, value := range values {
		if texts[preset], err = written(value); err != nil {
			return nil, nil, fmt.Errorf("the settings of preset %q cannot be written as JSON: %w", preset, err)
		}
		if e, ok := value.(Explained); ok {
			meanings = e.Meanings()
		}
	}
	return texts, meanings, nil
}

// fields are the exported fields of a plug-in that hold plain values.
func fields(p any) (map[string]json.RawMessage, error) {
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil, nil
	}
	plain := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch kind := f.Type.Kind(); {
		case !f.IsExported() || f.Anonymous:
		case kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr:
			plain[f.Name] = v.Field(i).Interface()
		}
	}
	if len(plain) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(plain)
	return map[string]json.RawMessage{NoPreset: text}, err
}
