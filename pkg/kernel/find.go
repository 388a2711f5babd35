package kernel

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Found is what is installed for a repository. Versions are "" where the thing
// is missing.
type Found struct {
	*Environment
	PythonVersion,
	JupyterLab, NBClient, NBConvert string
	GoNB, Goimports string
	Kernel          bool     // kernel.json is there and says what it should
	Problems        []string // what is missing, each with what to do; empty: ready
}

// Find looks at what is installed for root, and changes nothing.
func Find(root string) (*Found, error) {
	e, err := at(root)
	if err != nil {
		return nil, err
	}
	f := &Found{Environment: e}
	problem := func(format string, args ...any) { f.Problems = append(f.Problems, fmt.Sprintf(format, args...)) }
	if _, err := e.toolchain(); err != nil {
		problem("%v", err)
	}
	const advice = "`make lab` installs it"
	f.askPython()
	if f.JupyterLab == "" || f.NBClient == "" || f.NBConvert == "" {
		problem("no JupyterLab, nbclient and nbconvert in %s; %s", e.Venv, advice)
	}
	f.GoNB = moduleVersion(filepath.Join(e.Venv, "bin", "gonb"))
	f.Goimports = moduleVersion(filepath.Join(e.Venv, "bin", "goimports"))
	if f.GoNB == "" || f.Goimports == "" {
		problem("no gonb and goimports in %s; %s", filepath.Join(e.Venv, "bin"), advice)
	}
	want, err := json.MarshalIndent(e.spec(), "", "  ")
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(e.specFile())
	if f.Kernel = err == nil && bytes.Equal(bytes.TrimSpace(have), want); !f.Kernel {
		problem("the kernel %q is missing or out of date; %s", DisplayName, advice)
	}
	if _, err := os.Stat(e.Molehill); err != nil {
		problem("the program %s is missing; `make lab` builds it", e.Molehill)
	}
	return f, nil
}

// askPython fills in what the environment's Python says of itself.
func (f *Found) askPython() {
	const ask = `
import json, sys
from importlib.metadata import version, PackageNotFoundError
def of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
json.dump({"PythonVersion": "%d.%d.%d" % sys.version_info[:3], "JupyterLab": of("jupyterlab"),
           "NBClient": of("nbclient"), "NBConvert": of("nbconvert")}, sys.stdout)`
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, f.Python, "-I", "-c", ask).Output(); err == nil {
		_ = json.Unmarshal(out, f) // not installed, or broken: the versions stay empty
	}
}

// moduleVersion is the version of the module that a Go program was built from.
func moduleVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	return info.Main.Version
}
