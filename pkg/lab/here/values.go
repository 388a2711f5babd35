package here

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// values walks over values and writes what they hold, the same in every
// process, and gathers the declarations of the home package that they are of.
type values struct {
	home   string
	to     io.Writer
	roots  map[string]bool // names
	seen   map[visit]bool
	types  map[reflect.Type]bool
	opaque bool // something was met that decides and cannot be seen
}

type visit struct {
	at uintptr
	of reflect.Type
}

func (v *values) walk(value any) {
	v.seen, v.types = map[visit]bool{}, map[reflect.Type]bool{}
	v.value(reflect.ValueOf(value))
}

// value writes x. Of types of other packages only exported fields count; what they
// keep to themselves is not written, and makes x opaque unless it is zero, as locks
// are that nobody holds.
func (v *values) value(x reflect.Value) {
	if !x.IsValid() {
		fmt.Fprint(v.to, "nil ")
		return
	}
	v.typed(x.Type())
	fmt.Fprintf(v.to, "%s ", x.Type())
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() {
			fmt.Fprint(v.to, "nil ")
			return
		}
		if x.Kind() == reflect.Pointer {
			at := visit{x.Pointer(), x.Type()}
			if v.seen[at] {
				return
			}
			v.seen[at] = true
		}
		v.value(x.Elem())
	case reflect.Struct:
		ours := x.Type().PkgPath() == v.home
		for i := range x.NumField() {
			if f := x.Type().Field(i); ours || f.IsExported() {
				fmt.Fprintf(v.to, "%s ", f.Name)
				v.value(x.Field(i))
			} else if !x.Field(i).IsZero() {
				v.opaque = true
			}
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(v.to, "%d ", x.Len())
		for i := range x.Len() {
			v.value(x.Index(i))
		}
	case reflect.Map:
		// Through a walk of each, as the order of a map is not to be had.
		var entries []string
		for key, value := range x.Seq2() {
			var text strings.Builder
			to := v.to
			v.to = &text
			v.value(key)
			v.value(value)
			v.to = to
			entries = append(entries, text.String())
		}
		slices.Sort(entries)
		fmt.Fprintf(v.to, "%d %q ", len(entries), entries)
	case reflect.Func:
		if f := runtime.FuncForPC(x.Pointer()); f != nil {
			fmt.Fprintf(v.to, "%s ", f.Name())
			v.function(f.Name())
			// What a function literal has captured is not to be had, nor, of one that
			// stands in a variable, which variable.
			v.opaque = v.opaque || strings.Contains(f.Name(), ".func")
		}
	case reflect.Chan, reflect.UnsafePointer, reflect.Uintptr:
		// Of this process alone.
	default:
		fmt.Fprintf(v.to, "%v ", x)
	}
}

// typed gathers the name of a type of the home package, and of those that it is
// made of.
func (v *values) typed(t reflect.Type) {
	if v.types[t] {
		return
	}
	v.types[t] = true
	if t.PkgPath() == v.home && t.Name() != "" {
		name, _, _ := strings.Cut(t.Name(), "[")
		v.roots[name] = true // the rest follows from its declaration
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
		v.typed(t.Elem())
	}
}

// function gathers the declaration that a function is of: "home.load",
// "home.T.Load-fm", "home.main.func1".
func (v *values) function(name string) {
	rest, ok := strings.CutPrefix(name, v.home+".")
	if !ok {
		return
	}
	first, _, _ := strings.Cut(rest, ".")
	first = strings.Trim(first, "(*)")
	if first, _, _ = strings.Cut(first, "["); first == "glob" {
		first = "" // of some variable: which is not told, and no declaration has this name
	}
	v.roots[first] = true
}
