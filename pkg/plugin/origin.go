package plugin

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Origin says whose code a plug-in is: the module and package that registered
// it.
type Origin struct {
	Module  string `json:"module"`            // path; "" if the build does not tell
	Version string `json:"version,omitempty"` // of the module, as the build knows it; "" for sources at hand
	Package string `json:"package"`           // path; "main" for a program, or a notebook cell
}

// own is the path of Molehill's module.
var own = strings.TrimSuffix(reflect.TypeFor[Info]().PkgPath(), "/pkg/plugin")

// Ships reports whether the plug-in comes with Molehill.
func (o Origin) Ships() bool { return o.Module == own }

// Here reports whether the plug-in is declared in a notebook: no other program
// has it.
func (o Origin) Here() bool { return o.Package == "main" && strings.HasPrefix(o.Module, cell) }

// cell begins the names that GoNB gives to the modules of its cells.
const cell = "gonb_"

func (o Origin) String() string {
	switch {
	case o.Here():
		return "this notebook"
	case o.Module == "":
		return o.Package
	case o.Version == "":
		return o.Module
	}
	return o.Module + " " + o.Version
}

// registrant returns the origin of the code that called Register: of the
// outermost function on the stack that neither the runtime nor a test has
// called, which is an init, or main.
func registrant() Origin {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var o Origin
	for {
		frame, more := frames.Next()
		of := PackageOf(frame.Function)
		if of == "runtime" || of == "testing" {
			break
		}
		if o.Package = of; !more {
			break
		}
	}
	o.Module, o.Version = moduleOf(o.Package)
	return o
}

// PackageOf returns the package path of a function's full name.
func PackageOf(function string) string {
	last := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[last:], ".")
	return strings.ReplaceAll(function[:last]+name, "%2e", ".")
}

var build = sync.OnceValue(func() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return &debug.BuildInfo{}
	}
	return info
})

// moduleOf returns the module that has a package, by the longest path.
func moduleOf(path string) (module, version string) {
	if path == "main" {
		return build().Main.Path, ""
	}
	modules := append([]*debug.Module{&build().Main}, build().Deps...)
	for _, m := range modules {
		within := path == m.Path || strings.HasPrefix(path, m.Path+"/")
		if within && len(m.Path) > len(module) {
			module, version = m.Path, m.Version
			if m.Replace != nil || version == "(devel)" {
				version = "" // sources at hand
			}
		}
	}
	return module, version
}
