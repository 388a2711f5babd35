package own

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molehill/pkg/atomicfile"
	schemas "molehill/pkg/dataset/schema"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/run"
	"molehill/privacy"
)

// deliver writes what the run has made, says so, and compares it for the keeper.
func (s *synthesis) deliver(cmd *cobra.Command, r *run.Run) error {
	statement, err := r.Statement() // without which nothing leaves
	if err != nil {
		return err
	}
	for _, path := range s.keepersFiles() { // of what is replaced
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := s.export(cmd.Context(), r); err != nil {
		return err
	}
	if err := copyReport(r, synth.ReportFile, s.publicReport(), 0o644); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if s.printJSON {
		out = io.Discard // what is printed is the run
	}
	s.tell(out, r, statement)
	if !s.unexamined {
		if err := s.examine(cmd, out, r); err != nil {
			return err
		}
	}
	return s.tellBudget(out, r)
}

// export writes the synthetic table or images in the format that --out says. In one
// that the run has left already they are copied.
func (s *synthesis) export(ctx context.Context, r *run.Run) error {
	if s.folder() {
		return unzipWhole(r, "synthetic.zip", s.out)
	}
	ending := strings.ToLower(filepath.Ext(s.out))
	left, err := r.Artefacts()
	if err != nil {
		return err
	}
	if made := "synthetic" + ending; slices.Contains(left, made) {
		return copyOut(r, made, s.out, 0o644)
	}
	return atomicfile.Write(s.out, 0o644, func(to io.Writer) error {
		return s.kind.export(ctx, r, to, ending)
	})
}

// publicReport and keepersReport are the reports' paths without their endings.
func (s *synthesis) publicReport() string  { return schemas.Stem(s.out) + ".report" }
func (s *synthesis) keepersReport() string { return schemas.Stem(s.out) + ".keeper-only" }

// beside are the reports' files. The keeper's of an earlier output would tell of that
// one, so they do not stay either where no others are written.
func (s *synthesis) beside() []string {
	return append([]string{s.publicReport() + ".html", s.publicReport() + ".md"}, s.keepersFiles()...)
}

func (s *synthesis) keepersFiles() []string {
	return []string{s.keepersReport() + ".html", s.keepersReport() + ".md"}
}

// copyReport copies a report as a web page and as Markdown.
func copyReport(r *run.Run, artefact, path string, mode fs.FileMode) error {
	for _, ending := range []string{".html", ".md"} {
		if err := copyOut(r, artefact+ending, path+ending, mode); err != nil {
			return err
		}
	}
	return nil
}

// copyOut copies an artefact.
func copyOut(r *run.Run, artefact, path string, mode fs.FileMode) error {
	return atomicfile.Write(path, mode, func(to io.Writer) error {
		from, err := r.Artefact(artefact)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		return errors.Join(err, from.Close())
	})
}

// tell says what was made, what it promises, and where the report is.
func (s *synthesis) tell(out io.Writer, r *run.Run, statement privacy.Statement) {
	fmt.Fprintf(out, "%s\n  (ε = %v, δ = %s) as proved, under %s; run %s\n", s.out, statement.Epsilon(), privacy.DeltaText(statement.Delta), statement.Relation, r.ID)
	if math.IsInf(float64(statement.Epsilon()), 1) {
		fmt.Fprintln(out, "  made without privacy: nobody is promised anything")
	}
	if statement.Research {
		fmt.Fprintln(out, "  a research run: its noise can be recomputed, and it protects nobody")
	}
	fmt.Fprintf(out, "  to go with it:       %s.html, .md\n", s.publicReport())
}

// examine compares for the keeper. What was made and paid for is there by now: where
// the comparison fails, that is told, and all else stands.
func (s *synthesis) examine(cmd *cobra.Command, out io.Writer, r *run.Run) error {
	lines, err := s.kind.compare(cmd.Context(), r, s.test)
	if err == nil {
		err = copyReport(r, synth.KeeperFile, s.keepersReport(), 0o600)
	}
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err != nil {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "There is no comparison for the keeper: %v. All else is there; %s, and spends nothing.\n", err, s.tryAgain())
		return err
	}
	fmt.Fprintf(out, "  for the keeper only: %s.html, .md\n\nFor the keeper only (this looks at the private data and is not private):\n", s.keepersReport())
	for _, line := range lines {
		fmt.Fprintln(out, " ", line)
	}
	return nil
}

// tryAgain says how the same command comes to run again.
func (s *synthesis) tryAgain() string {
	if s.folder() {
		return fmt.Sprintf("the same command tries again once %s and the reports beside it are removed, or with another --out", s.out)
	}
	return "with --force the same command tries again"
}

// each writes what disagrees.
func each[F fmt.Stringer](found []F) (lines []string) {
	for _, fault := range found {
		lines = append(lines, fmt.Sprint("! ", fault))
	}
	return lines
}

// learned says what classifiers have learned of records that are called so, or why
// nothing.
func learned(on, unlearned, records string, a synth.Accuracies) []string {
	switch {
	case unlearned != "":
		return []string{"! accuracy was not measured: " + unlearned}
	case on != "":
		return []string{fmt.Sprintf("accuracy on %s: %.1f %% learned from synthetic %s, %.1f %% from private ones, %.1f %% always the most frequent", on, 100*a.Synthetic, records, 100*a.Real, 100*a.Majority)}
	}
	return nil
}

// tellBudget says what the run has paid, and how the ledger calls the data.
func (s *synthesis) tellBudget(out io.Writer, r *run.Run) error {
	receipt, err := r.Receipt()
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	if when := "Paid"; receipt != "" {
		if s.again {
			when = "Paid when it was made, and not again"
		}
		fmt.Fprintf(out, "%s: %s\n", when, receipt)
	}
	_, err = fmt.Fprintf(out, "What runs on these data cost together: molehill budget status %s%s\n", synth.Own, s.kind.name())
	return err
}
