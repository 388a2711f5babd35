package runs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"molehill/pkg/command/internal/cli"
	"molehill/pkg/experiment"
	"molehill/pkg/run"
	"molehill/viz"
)

// measure measures a finished run further.
func measure() *cobra.Command {
	var (
		rows   int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "measure RUN NAME",
		Short: "measure a finished run further: its FID, or whether it copies",
		Long: `Measure a finished run in a way that runs do not by themselves. What is found is
kept with the run, and asked again it is there at once.

  fid      Fréchet Inception Distance to held-out images: fid with the whole
           network (molehill data fetch inception), fid-768 with the one that is
           cut short; most of a tenth of a second an image on two cores
  pixels   sliced W₂ of decoded images to held-out ones, pixel by pixel: of flows,
           as are the registered metrics (molehill list metrics)
  logistic, mlp, cnn, or another classifier (molehill list classifiers)
           accuracy on held-out images of one that has learned from generated ones
           alone: of generators of labelled images
  knn      accuracy with 004's labels, those of the nearest private codes: of
           dp-swae, and for the keeper of the rows
  distinguish
           how well 004 D.1 tells neighbours apart: of circle
  bias     bias and variance of DP-Sinkhorn's gradient as its debiasing varies
  copies   how near generated rows are to private rows and to held-out ones; it
           looks at private rows and charges nothing, so it is for their keeper`,
		Example: "  molehill measure harmonic-flow-3d fid --rows 1000\n  molehill measure harmonic-flow-3d copies",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := find(args[0])
			if err != nil {
				return err
			}
			say, done := teller()
			found, err := experiment.Measure(cmd.Context(), r, args[1], rows, say)
			done()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return cli.JSON(out, found)
			}
			tellMeasured(out, found)
			return nil
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 10_000, "how many generated rows, at most as many as there are")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tellMeasured prints what a measurement has found.
func tellMeasured(w io.Writer, found experiment.Measured) {
	tellValues(w, found.Values)
	fmt.Fprintf(w, "  of %d %s", found.Rows, cmp.Or(found.Of, "generated rows"))
	if found.Note != "" {
		fmt.Fprintf(w, "; %s", found.Note)
	}
	fmt.Fprintln(w)
	if found.NonPrivate {
		fmt.Fprintln(w, "  NOT PRIVATE: private rows were looked at and no budget was charged; this is for their keeper alone")
	}
}

// tellValues prints values by their names, one below the other.
func tellValues(w io.Writer, values run.Values) {
	names, widest := slices.Sorted(maps.Keys(values)), 0
	for _, name := range names {
		widest = max(widest, utf8.RuneCountInString(name))
	}
	for _, name := range names {
		fmt.Fprintf(w, "  %-*s %.5g\n", widest, name, values[name])
	}
}

// teller shows the progress of the parts of long work, one after the other.
func teller() (say func(run.Event), done func()) {
	var bar *viz.Progress
	part := ""
	done = func() {
		if bar != nil {
			bar.Done()
		}
		bar = nil
	}
	say = func(e run.Event) {
		if bar == nil || e.Message != part {
			done()
			bar, part = viz.NewProgress(e.Message, e.Total), e.Message
		}
		bar.Set(e.Step, "")
	}
	return say, done
}
