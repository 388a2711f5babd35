package run

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Provenance says where, when and by what program a run was computed. What a
// run of an older program did not write down is empty.
type Provenance struct {
	Started  time.Time         `json:"started"`
	Host     string            `json:"host"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	CPU      string            `json:"cpu,omitempty"` // the processor's name, where the system tells it
	Cores    int               `json:"cores"`
	Go       string            `json:"go"`                 // toolchain, with its experiments
	Versions map[string]string `json:"versions,omitempty"` // of GoMLX's modules, by path
	Module   string            `json:"module,omitempty"`   // path and version of the main module
	Revision string            `json:"revision,omitempty"` // of its repository; "+changes" when files differed from it
	Backend  string            `json:"backend,omitempty"`  // what executed graphs; see Run.ComputedOn
	Data     string            `json:"data,omitempty"`     // where the records came from; see Run.ComputedOn
	Split    string            `json:"split,omitempty"`    // how they were split; see Run.KeepSplit
	Paid     string            `json:"paid,omitempty"`     // what the ledger says of its releases; see Run.KeepReceipt
	Rested   int               `json:"rested,omitempty"`   // the step that it saved when it was stopped; see Run.Rest
	Ended    time.Time         `json:"ended,omitzero"`     // when it was
}

// Here is the provenance of what this process computes from now on, beside runs: a Backend
// it may add. It is as a file gives it back.
func Here() Provenance {
	p := provenance()
	p.Started = p.Started.UTC().Round(0) // without the clock of this process
	return p
}

// provenance describes this process.
func provenance() Provenance {
	p := Provenance{
		Started: time.Now(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), Go: runtime.Version(),
	}
	p.Host, _ = os.Hostname()                   // stays empty where a machine has no name
	processors, _ := os.ReadFile(processorFile) // stays empty where there is none
	p.CPU = processorName(string(processors))
	if build, ok := debug.ReadBuildInfo(); ok {
		p.Versions = graphVersions(build.Deps)
		p.Module = strings.TrimSpace(build.Main.Path + " " + build.Main.Version)
		p.Revision = revision(build.Settings)
	}
	return p
}

// Program names the program, with its commit where it was built of a known one, and Go.
func (p Provenance) Program() string {
	return strings.TrimSpace(p.Module+" "+p.Revision) + ", " + p.Go
}

// About says what this program was built of.
func About() string { return provenance().about() }

// about has a line for the module, its commit, Go, and each module of GoMLX.
func (p Provenance) about() string {
	commit := p.Revision
	if commit == "" {
		commit = "not recorded in this build"
	}
	about := fmt.Sprintf("%s\ncommit %s\n%s %s/%s", p.Module, commit, p.Go, p.OS, p.Arch)
	for _, path := range slices.Sorted(maps.Keys(p.Versions)) {
		about += "\n" + strings.TrimSpace(path+" "+p.Versions[path])
	}
	return about
}

// computer is what decides how numbers are rounded, beside the backend: how many cores
// there are says in which order sums are made, and the toolchain has its own exponential.
func (p Provenance) computer() string {
	return fmt.Sprintf("%s %s, %d cores, %s, %v", p.Arch, p.CPU, p.Cores, p.Go, slices.Sorted(maps.Values(p.Versions)))
}

// recorded reports whether the program was new enough to say what computer has rather
// than leaving it out.
func (p Provenance) recorded() bool { return p.CPU != "" || p.Versions != nil }

// processorFile is where Linux tells of its processors.
const processorFile = "/proc/cpuinfo"

// processorName is the name of the first processor in the text of processorFile, or the
// numbers of its implementer and part where it has none, as on ARM; "" if it has neither.
func processorName(text string) string {
	first := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); first[key] == "" {
			first[key] = strings.TrimSpace(value)
		}
	}
	if implementer, part := first["CPU implementer"], first["CPU part"]; first["model name"] == "" && implementer+part != "" {
		return strings.TrimSpace("ARM " + implementer + " " + part)
	}
	return first["model name"]
}

// graphVersions picks the modules of GoMLX, which build and execute graphs and so
// decide the last digits. One that is replaced counts as what replaces it; one
// that is replaced by a folder has no version.
func graphVersions(dependencies []*debug.Module) map[string]string {
	var found map[string]string
	for _, m := range dependencies {
		if !strings.HasPrefix(m.Path, "github.com/gomlx/") {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[m.Path] = m.Version
		if m.Replace != nil {
			found[m.Path] = m.Replace.Version
		}
	}
	return found
}

// revision is the commit that a program was built of, with "+changes" where files
// differed from it; "" if nothing is recorded.
func revision(settings []debug.BuildSetting) string {
	var commit, changes string
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changes = "+changes"
		}
	}
	return commit + changes
}

// Provenance returns one entry for each process that computed this run, oldest
// first: more than one where it was interrupted and resumed.
func (r *Run) Provenance() ([]Provenance, error) {
	record, err := readRecord(r.Dir)
	return record.Provenance, err
}

// Took is how long the computations of a run took that ended then: the last, and those that
// rested, which it went on from. Of one that was killed nobody knows when.
func Took(computations []Provenance, ended time.Time) (took time.Duration) {
	for i, p := range computations {
		switch {
		case i == len(computations)-1:
			took += ended.Sub(p.Started)
		case p.Rested > 0:
			took += p.Ended.Sub(p.Started)
		}
	}
	return took
}
