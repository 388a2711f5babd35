package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"molehill/models/inception"
	"molehill/pkg/command/internal/cli"
	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
)

// network is the name under which `data fetch` and `data verify` know the network
// of package inception, which is no data set.
const network = "inception"

func isNetwork(name string) bool { return name == network }

func data() *cobra.Command {
	return cli.Group(&cobra.Command{Use: "data", Short: "data sets: list, fetch, verify"}, dataList(), dataFetch(), dataVerify())
}

// presence is where a data set stands on this machine.
type presence struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Public  bool   `json:"public"`
	State   string `json:"state"` // ready, generated, missing, damaged
	Where   string `json:"where,omitempty"`
}

func present(cmd *cobra.Command, source dataset.Source) (presence, error) {
	info := source.Describe()
	p := presence{Name: info.Name, Summary: info.Summary, Public: source.Public(), State: "generated"}
	if byHand, ok := source.(dataset.ByHand); ok {
		p.State = "missing"
		if where, err := byHand.Where(""); err == nil {
			p.State, p.Where = "ready", where
		}
		return p, nil
	}
	fetcher, ok := source.(dataset.Fetcher)
	if !ok {
		return p, nil
	}
	p.State = "ready"
	statuses, err := dataset.Verify(cmd.Context(), fetcher, "")
	for _, s := range statuses {
		p.Where = s.Path
		if errors.Is(s.Err, fs.ErrNotExist) {
			p.State = "missing"
		} else if s.Err != nil {
			p.State = "damaged"
			break
		}
	}
	return p, err
}

func dataList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "the data sets, and which of them are on this machine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []presence
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, source := range dataset.Registry.All() {
				p, err := present(cmd, source)
				if err != nil {
					return err
				}
				all = append(all, p)
				protection := "private"
				if p.Public {
					protection = "public"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, p.State, protection, p.Summary)
			}
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), all)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// fetchers returns the named sources that have files, or all of them.
func fetchers(names []string) ([]dataset.Fetcher, error) {
	var found []dataset.Fetcher
	if len(names) == 0 {
		for _, source := range dataset.Registry.All() {
			if f, ok := source.(dataset.Fetcher); ok {
				found = append(found, f)
			}
		}
		return found, nil
	}
	for _, name := range names {
		source, err := dataset.Registry.Lookup(name)
		if unknown, ok := errors.AsType[*plugin.UnknownError](err); ok {
			unknown.List = "molehill data list" // which also tells what is here
		}
		if err != nil {
			return nil, err
		}
		if byHand, ok := source.(dataset.ByHand); ok {
			return nil, fmt.Errorf("%s cannot be fetched, and has no checksums: %s", name, byHand.Obtain())
		}
		f, ok := source.(dataset.Fetcher)
		if !ok {
			return nil, fmt.Errorf("%s needs no files: it is generated", name)
		}
		found = append(found, f)
	}
	return found, nil
}

func dataFetch() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "fetch NAME...",
		Short:   "download data sets from their mirrors, verified; what was interrupted goes on",
		Example: "  molehill data fetch mnist",
		Long:    "download data sets from their mirrors, verified; what was interrupted goes on.\n\n`molehill data fetch " + network + "` gets the network that the metric fid needs: 89 MB.",
		RunE: func(cmd *cobra.Command, args []string) error {
			names := slices.DeleteFunc(slices.Clone(args), isNetwork)
			var sources []dataset.Fetcher
			if len(names) > 0 {
				var err error
				if sources, err = fetchers(names); err != nil {
					return err
				}
			}
			bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowBytes(true), progressbar.OptionFullWidth(),
				progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionSetVisibility(terminal(os.Stderr)))
			defer bar.Close()
			report := func(p dataset.Progress) {
				bar.Describe(p.File)
				bar.ChangeMax64(p.Total)
				_ = bar.Set64(p.Done) // a bar that cannot be drawn is no reason to stop
			}
			for _, source := range sources {
				if dir == "" {
					p, err := present(cmd, source)
					if err != nil {
						return err
					}
					if p.State == "ready" {
						fmt.Fprintf(cmd.OutOrStdout(), "%s is there and verified, in %s\n", p.Name, filepath.Dir(p.Where))
						continue
					}
				}
				if err := dataset.Fetch(cmd.Context(), source, dir, report); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), source.Describe().Name, "is there and verified")
			}
			if len(names) < len(args) {
				if err := inception.Fetch(cmd.Context(), dir, report); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), network, "is there and verified")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder to put the data set's folder into (default: the user's cache)")
	return cmd
}

func dataVerify() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "compare the files of data sets with their checksums",
		RunE: func(cmd *cobra.Command, args []string) error {
			names := slices.DeleteFunc(slices.Clone(args), isNetwork)
			var sources []dataset.Fetcher
			if len(names) > 0 || len(args) == 0 {
				var err error
				if sources, err = fetchers(names); err != nil {
					return err
				}
			}
			bad := 0
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, source := range sources {
				statuses, err := dataset.Verify(cmd.Context(), source, dir)
				if err != nil {
					return err
				}
				for _, s := range statuses {
					verdict := "ok"
					if s.Err != nil {
						bad++
						verdict = s.Err.Error()
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", source.Describe().Name, s.Path, verdict)
				}
			}
			if len(names) < len(args) {
				where, verdict := "", "ok"
				if n, err := inception.Open(dir); err != nil {
					bad++
					verdict = err.Error()
				} else if where = n.Origin; n.Dim() != inception.Full {
					verdict = fmt.Sprintf("ok, but cut: for %s, not for fid", n.Metric())
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", network, where, verdict)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if bad > 0 {
				return fmt.Errorf("missing or wrong: %s; `molehill data fetch NAME` gets what is", cli.Count(bad, "file", "files"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder that has the data set's folder (default: where runs look)")
	return cmd
}
