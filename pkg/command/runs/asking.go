package runs

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"molehill/pkg/experiment"
	"molehill/pkg/launch"
	"molehill/pkg/plugin"
)

// asking are the flags that ask for runs of an experiment.
type asking struct {
	preset   string
	epsilon  string
	given    func() bool // whether --epsilon is
	settings []string
	seed     uint64
	research bool
}

func (a *asking) add(flags *pflag.FlagSet) {
	flags.StringVar(&a.preset, "preset", string(experiment.Quick), "quick: seconds to minutes on two cores; paper: the paper's settings")
	flags.StringVar(&a.epsilon, "epsilon", "", "the ε to be proved, or inf")
	a.given = func() bool { return flags.Changed("epsilon") }
	flags.StringArrayVar(&a.settings, "set", nil, "a setting, NAME=VALUE (repeatable; molehill list EXPERIMENT tells which there are)")
	flags.Uint64Var(&a.seed, "seed", 1, "of everything random but a release's noise")
	flags.BoolVar(&a.research, "research", false, "noise from the seed: repeatable by anyone, no promise to anybody")
}

// request is what the flags ask of an experiment.
func (a *asking) request(name string) (experiment.Request, error) {
	q := experiment.Request{Experiment: name, Preset: experiment.Preset(a.preset), Seed: a.seed, Research: a.research, Settings: map[string]string{}}
	for _, s := range a.settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return q, fmt.Errorf("--set %s: expected NAME=VALUE", s)
		}
		if before, twice := q.Settings[name]; twice {
			return q, fmt.Errorf("--set %s=%s and --set %s; give one of them", name, before, s)
		}
		q.Settings[name] = value
	}
	if a.preset == "" { // of an unset variable, say: the quick one would be paid for
		return q, fmt.Errorf("--preset is empty; it is %s or %s, or leave the flag out for %[1]s", experiment.Quick, experiment.Paper)
	}
	if !a.given() {
		return q, nil
	}
	if strings.TrimSpace(a.epsilon) == "" { // of an unset variable, say: the preset's would be paid for
		return q, fmt.Errorf("--epsilon is empty; give the ε to be proved, or inf, or leave the flag out for the preset's")
	}
	if _, twice := q.Settings["epsilon"]; twice {
		return q, fmt.Errorf("--epsilon %s and --set epsilon=%s; give one of them", a.epsilon, q.Settings["epsilon"])
	}
	q.Settings["epsilon"] = plainEpsilon(a.epsilon)
	return q, nil
}

func plainEpsilon(text string) string { return strings.Replace(text, "∞", "inf", 1) }

// placing are the flags that say where to compute.
type placing struct {
	on     string
	sbatch []string
}

// The places.
const (
	here  = "here"
	slurm = "slurm"
)

func (p *placing) add(flags *pflag.FlagSet) {
	flags.StringVar(&p.on, "on", here, "where to compute: here, or slurm (docs/runs.md)")
	flags.StringArrayVar(&p.sbatch, "sbatch", nil, "with --on slurm an option of sbatch's, --sbatch=--partition=gpu (repeatable)")
}

// places returns this machine and, if it is asked for, the cluster, both with this
// very program and the plug-ins that are linked into it.
func (p *placing) places() (local launch.Local, cluster *launch.Slurm, err error) {
	self, err := os.Executable()
	if err != nil {
		return local, nil, err
	}
	local = launch.Local{Binary: self}
	switch p.on {
	case here:
		if len(p.sbatch) > 0 {
			return local, nil, fmt.Errorf("--sbatch %s without --on slurm", p.sbatch[0])
		}
		return local, nil, nil
	case slurm:
		return local, &launch.Slurm{Binary: self, Options: p.sbatch}, nil
	}
	return local, nil, &plugin.UnknownError{Kind: "place to compute", Name: p.on, Nearest: []string{here, slurm}}
}

// place returns where to compute one run.
func (p *placing) place() (launch.Place, error) {
	local, cluster, err := p.places()
	if cluster != nil {
		return *cluster, err
	}
	return local, err
}
