// Package command is the command line: it parses, calls the other packages and
// prints. A program with plug-ins of its own imports them and calls Main:
//
//	package main
//
//	import (
//		"molehill/pkg/command"
//		_ "example.org/mine" // registers its data sets, models, experiments in init
//	)
//
//	func main() { command.Main() }
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	// What ships with Molehill.
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/command/own"
	"molehill/pkg/command/promise"
	"molehill/pkg/command/runs"
	_ "molehill/pkg/experiment/autoencoder"
	_ "molehill/pkg/experiment/circle"
	_ "molehill/pkg/experiment/dpsinkhorn/tables"
	_ "molehill/pkg/experiment/fair/tables"
	_ "molehill/pkg/experiment/privateflow/tables"
	_ "molehill/pkg/experiment/swae/tables"
	_ "molehill/pkg/experiment/toy"
	_ "molehill/privacy/ledger/postgres"
	_ "molehill/privacy/ledger/sqlite"

	"molehill/models/backend"
	"molehill/pkg/launch"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
	"molehill/privacy/ledger"
)

// Main runs the command line of this process and ends it. An interrupt stops a
// computation at its next step; its run can be continued.
func Main() {
	startWell()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second interrupt ends the process wherever it is, but not the one that timeout(1)
	// sends along with the first: the run has to be told to stop.
	context.AfterFunc(ctx, func() {
		time.AfterFunc(time.Second, stop)
		time.AfterFunc(patience, func() {
			fmt.Fprintln(os.Stderr, "molehill: told to stop, which it does at its next step; once more ends it at once")
		})
	})
	out := &output{to: os.Stdout}
	root := New()
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	stop()
	if err == nil {
		err = out.err
	}
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		said := &cli.Interrupted{Next: "the same command continues"}
		errors.As(err, &said) // else err only tells what was being done then
		fmt.Fprintln(os.Stderr, "molehill:", said)
		os.Exit(130)
	}
	fmt.Fprintln(os.Stderr, "molehill:", err)
	os.Exit(1)
}

// patience is how long a command may take to stop without a word.
const patience = 3 * time.Second

// output remembers that something could not be written, to a full disk say: what was asked
// for is not there then, and whoever calls the command has to know.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(text []byte) (n int, err error) {
	if n, err = o.to.Write(text); err != nil && o.err == nil {
		o.err = fmt.Errorf("not all could be written: %w", err)
	}
	return n, err
}

// New returns the command line.
func New() *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:           "molehill",
		Short:         "Private optimal transport in Go notebooks",
		Long:          "Molehill is differentially private optimal transport: experiments, runs, data and JupyterLab from one command.",
		Version:       run.About(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if cmd.Name() == "list" {
				return // it tells of them itself
			}
			for _, fault := range plugin.Faults() {
				fmt.Fprintln(cmd.ErrOrStderr(), "molehill:", fault)
			}
			var once sync.Once
			cmd.SetContext(ledger.Waiting(cmd.Context(), func(where string) {
				once.Do(func() {
					fmt.Fprintf(cmd.ErrOrStderr(), "molehill: waiting for another process to leave the ledger %s alone\n", where)
				})
			}))
			if slower := backend.Slower(); slower != "" && cli.IsComputing(cmd) {
				fmt.Fprintln(cmd.ErrOrStderr(), "molehill:", slower)
			}
		},
	}, slices.Concat(
		[]*cobra.Command{list(), newCommand(), data(), labCommand(), notebooks(), doctor(), version()},
		runs.Commands(), promise.Commands(), own.Commands(),
	)...)
	root.InitDefaultHelpCmd()
	takeArguments(root)
	helpKnows(root)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if kind := wrong.GetFlag().Value.Type(); strings.Contains(kind, "int") {
				within := ""
				if kind == "uint64" {
					within = fmt.Sprintf(" from 0 to %d", uint64(math.MaxUint64))
				}
				err = fmt.Errorf("--%s %s: expected a whole number%s, written out in digits", wrong.GetFlag().Name, wrong.GetValue(), within)
			}
		}
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	return root
}

func version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "what this program was built of: commit, Go, GoMLX and go-xla; also --version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), run.About())
			return err
		},
	}
}

// takeArguments has all commands take what their Use lines name, unless they say otherwise.
func takeArguments(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = cli.Arguments
	}
	for _, c := range cmd.Commands() {
		takeArguments(c)
	}
}

// helpKnows has help refuse what is no command, as the command line itself does.
func helpKnows(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Args = func(_ *cobra.Command, words []string) error {
		of, rest, err := root.Find(words)
		if err != nil || len(rest) == 0 || !of.HasSubCommands() {
			return err
		}
		return of.Args(of, rest)
	}
}

// startWell starts the program again if its environment lacks the settings with which
// it computes fast.
func startWell() {
	said := true
	for name, value := range launch.Settings(os.Getenv) {
		if os.Getenv(name) != value {
			said = false
			if os.Setenv(name, value) != nil {
				return // slower, not wrong
			}
		}
	}
	self, err := os.Executable()
	if said || err != nil {
		return
	}
	_ = syscall.Exec(self, os.Args, os.Environ()) // returns only if it failed
}
