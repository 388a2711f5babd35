package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"molehill/models/backend"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset"
	"molehill/pkg/kernel"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
	"molehill/privacy/noise"
)

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// finding is a line of the doctor's report: fine, or what to do.
type finding struct {
	Subject string `json:"subject"`
	OK      bool   `json:"ok"`
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"`
}

func doctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what is found on this machine, and what to do where something is missing",
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examine(cmd)
			if asJSON {
				return errors.Join(cli.JSON(cmd.OutOrStdout(), findings), cannotRun(findings))
			}
			for _, f := range findings {
				mark := "ok "
				if !f.OK {
					mark = "-> "
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s %-11s %s\n", mark, f.Subject, f.Found)
				if f.Advice != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "    %-11s %s\n", "", f.Advice)
				}
			}
			return cannotRun(findings)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// cannotRun is an error where something is missing without which nothing can be computed
// here.
func cannotRun(findings []finding) error {
	var missing []string
	ledger := false
	for _, f := range findings {
		ledger = ledger || !f.OK && f.Subject == "ledger"
		if !f.OK && slices.Contains([]string{"backend", "graph", "randomness", "runs"}, f.Subject) {
			missing = append(missing, f.Subject)
		}
	}
	switch {
	case missing != nil:
		return fmt.Errorf("nothing can be computed here as things are: %s", strings.Join(missing, ", "))
	case ledger:
		return errors.New("nothing can be computed on private rows here as things are: ledger")
	}
	return nil
}

func examine(cmd *cobra.Command) []finding {
	findings := []finding{{Subject: "go", OK: true, Found: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + fmt.Sprintf(", %d cores", runtime.GOMAXPROCS(0))}}
	findings = append(findings, installation()...)
	findings = append(findings, graphs()...)
	findings = append(findings, randomness(), store(), books(cmd.Context()))
	for _, source := range dataset.Registry.All() {
		p, err := present(cmd, source)
		f := finding{Subject: "data", OK: err == nil && (p.State == "ready" || p.State == "generated"), Found: strings.TrimSpace(p.Name + ": " + p.State + " " + p.Where)}
		if !f.OK {
			f.Advice = "molehill data fetch " + p.Name
			if byHand, ok := source.(dataset.ByHand); ok {
				f.Advice = byHand.Obtain()
			}
		}
		findings = append(findings, f)
	}
	return append(findings, faults()...)
}

// installation looks at Python, JupyterLab and the kernel.
func installation() []finding {
	root, err := repository()
	if err != nil {
		return []finding{{Subject: "kernel", Found: err.Error(), Advice: "notebooks need a checkout; experiments run without one"}}
	}
	found, err := kernel.Find(root)
	if err != nil {
		return []finding{{Subject: "kernel", Found: err.Error(), Advice: "make lab"}}
	}
	python, advice := "", strings.Join(found.Problems, "; ")
	if advice != "" {
		advice += "; `make lab` sets it up"
	}
	if found.PythonVersion == "" || found.JupyterLab == "" {
		python = "`make lab` installs JupyterLab beside the sources, with the Python that is there"
	}
	return []finding{
		{Subject: "python", OK: python == "", Found: "python " + cmp.Or(found.PythonVersion, "not found") + ", JupyterLab " + cmp.Or(found.JupyterLab, "not installed"), Advice: python},
		{Subject: "kernel", OK: len(found.Problems) == 0, Found: "GoNB " + cmp.Or(found.GoNB, "not built") + ", kernel " + map[bool]string{true: "installed", false: "not installed"}[found.Kernel], Advice: advice},
	}
}

// graphs looks at the backend and times a small graph on it.
func graphs() []finding {
	simd := finding{Subject: "simd", OK: backend.SIMD(), Found: "built with SIMD, asynchronous preemption off"}
	switch {
	case !backend.SIMD():
		simd.Found, simd.Advice = "built without SIMD: products on the Go backend are several times slower", "export GOEXPERIMENT=simd and build again; make does"
	case !backend.AsyncPreemptOff():
		simd.OK, simd.Found, simd.Advice = false, "built with SIMD, asynchronous preemption on: exponentials can be up to 100 times slower", "export GODEBUG=asyncpreemptoff=1"
	}
	b, err := backend.Open()
	if err != nil {
		return []finding{simd, {Subject: "backend", Found: err.Error(), Advice: "unset GOMLX_BACKEND to let molehill choose"}}
	}
	chosen := finding{Subject: "backend", OK: true, Found: b.String() + ": " + b.Why}
	if backend.WithoutXLA() {
		chosen.Advice = "networks are several times faster on XLA: `make lab CHECK=1` installs its plugin"
	}
	found := []finding{simd, chosen}
	if b.Plugin != "" {
		found = append(found, finding{Subject: "plugin", OK: true, Found: b.Plugin})
	}
	elapsed, err := timeGraph(b)
	if err != nil {
		return append(found, finding{Subject: "graph", Found: err.Error(), Advice: "try GOMLX_BACKEND=go"})
	}
	return append(found, finding{Subject: "graph", OK: true, Found: fmt.Sprintf("a product of 512×512 matrices takes %.1f ms", elapsed.Seconds()*1000)})
}

func timeGraph(b *backend.Backend) (time.Duration, error) {
	const n = 512
	product, err := graph.NewExec(b.Engine, func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Dot(x, x).Product()) })
	if err != nil {
		return 0, err
	}
	x := tensors.FromFlatDataAndDimensions(make([]float32, n*n), n, n)
	var began time.Time
	for range 2 { // the first call compiles
		began = time.Now()
		if _, err := product.Call(x); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func randomness() finding {
	source, err := noise.Secure()
	if err != nil {
		return finding{Subject: "randomness", Found: err.Error(), Advice: "nothing can be released without it"}
	}
	return finding{Subject: "randomness", OK: true, Found: source.Describe()}
}

func store() finding {
	s, err := run.DefaultStore()
	if err != nil {
		return finding{Subject: "runs", Found: err.Error(), Advice: "set MOLEHILL_RUNS to a folder"}
	}
	probe := func() error {
		dir := s.Dir // or, as nothing is to be made for a slip of the name, where it would be
		for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir; _, err = os.Stat(dir) {
			dir = filepath.Dir(dir)
		}
		file, err := os.CreateTemp(dir, ".doctor-*")
		if err != nil {
			return err
		}
		_, err = file.WriteString("whether there is room")
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if err := probe(); err != nil {
		return finding{Subject: "runs", Found: s.Dir + ": " + strings.ReplaceAll(err.Error(), "\n", "; "), Advice: "set MOLEHILL_RUNS to a folder that you may write to, on a disk with room"}
	}
	return finding{Subject: "runs", OK: true, Found: s.Dir}
}

// books looks at the ledger of budgets.
func books(ctx context.Context) finding {
	f := finding{Subject: "ledger", Advice: "runs on private rows need it: MOLEHILL_LEDGER names another"}
	where, err := ledger.Default()
	if err != nil {
		f.Found = err.Error()
		return f
	}
	l, err := ledger.Open(where)
	if err != nil {
		f.Found = err.Error()
		return f
	}
	defer l.Close()
	all, err := l.Status(ctx)
	if err == nil {
		err = l.Writable(ctx)
	}
	if err != nil {
		f.Found = err.Error()
		return f
	}
	budgets := 0
	for _, s := range all {
		if s.Budget != nil {
			budgets++
		}
	}
	return finding{Subject: "ledger", OK: true, Found: fmt.Sprintf("%v: %s, %s", l, cli.Count(len(all), "data set", "data sets"), cli.Count(budgets, "budget", "budgets"))}
}

// faults reports plug-ins that were left out.
func faults() (found []finding) {
	for _, fault := range plugin.Faults() {
		found = append(found, finding{Subject: "plug-in", Found: fault.Error(), Advice: "mend the plug-in; the others go on"})
	}
	return found
}
