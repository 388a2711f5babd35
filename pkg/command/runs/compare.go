package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/compare"
)

func compareCommand() *cobra.Command {
	var figure, curve string
	var metrics []string
	cmd := &cobra.Command{
		Use:     "compare RUN|SWEEP...",
		Short:   "several runs in one table, and with --figure their curves in one picture",
		Example: "  molehill compare baseline sketch-flow@1a2b3c --figure curves.png",
		RunE: func(cmd *cobra.Command, args []string) error {
			if curve != "" && figure == "" {
				return fmt.Errorf("--curve %s says which curve --figure draws; give a file to draw it into, such as --figure curves.png", curve)
			}
			runs, _, err := findAll(args)
			if err != nil {
				return err
			}
			compared, err := compare.Runs(runs)
			if err != nil {
				return err
			}
			have := compared.Metrics()
			for _, name := range metrics {
				if !slices.Contains(have, name) {
					return fmt.Errorf("--metric %s: none of the runs has measured that; they have %s", name, strings.Join(have, ", "))
				}
			}
			table, err := compared.Table(metrics...)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), table)
			if figure == "" {
				return nil
			}
			drawn := compared.Figure()
			if curve != "" {
				drawn = compared.Curve(curve)
			}
			if len(drawn.Lines) == 0 {
				return fmt.Errorf("no curve to draw; the runs have told of %s", strings.Join(append(compared.Curves(), "no more"), ", "))
			}
			if err := drawn.Save(figure); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), figure)
			return nil
		},
	}
	cmd.Flags().StringVar(&figure, "figure", "", "a .png, .svg or .pdf file to draw a curve of the runs into")
	cmd.Flags().StringVar(&curve, "curve", "", "which curve to draw (default: the one that most runs have)")
	cmd.Flags().StringArrayVar(&metrics, "metric", nil, "only this metric (repeatable)")
	return cmd
}
