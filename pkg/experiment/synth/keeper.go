package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"molehill/pkg/dataset"
	"molehill/pkg/metric"
	"molehill/pkg/metric/utility"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/viz"
)

// Accuracies are those on the same records of what tells classes apart.
type Accuracies struct {
	Synthetic float64 // of a classifier that has learned from synthetic records
	Real      float64 // of one that has learned from private ones
	Majority  float64 // of always saying what is most frequent in these
}

// Learn learns from synthetic and from private records, one after the other, and has others
// to tell apart.
func Learn(ctx context.Context, synthetic, private func() (*dataset.Dataset, error), on *dataset.Dataset) (a Accuracies, err error) {
	for _, side := range []struct {
		records func() (*dataset.Dataset, error)
		to      *float64
	}{{synthetic, &a.Synthetic}, {private, &a.Real}} {
		from, err := side.records()
		if err != nil {
			return a, err
		}
		model, err := utility.DefaultLogistic.Fit(ctx, from, 1, nil)
		if err != nil {
			return a, err
		}
		accuracy, err := utility.Accuracy(model, on)
		if err != nil {
			return a, err
		}
		*side.to, a.Majority = accuracy.Value, utility.Majority(from, on) // in the end of the private ones
	}
	return a, nil
}

// Nearness tells whether synthetic points are nearer to private than to held-out ones.
func Nearness(ctx context.Context, made, private, held transport.Points) (*metric.Copies, error) {
	copies, err := metric.CheckCopies(ctx, made, private, held)
	copies.ToPrivate, copies.ToHeldOut = nil, nil
	return &copies, err
}

// Agreement is the keeper's section of what does not agree with the schema, with the words
// for nothing and for something.
func Agreement[F fmt.Stringer](heading string, found []F, nothing, something string) report.Section {
	s := report.Section{Heading: heading, NonPrivate: true, Text: []string{nothing}}
	for _, fault := range found {
		s.List, s.Text = append(s.List, fault.String()), []string{something}
	}
	return s
}

// Usefulness is the keeper's section, with its heading, of what was learned of synthetic and
// private records, which are called so, on others, or of why nothing was; none without both.
func Usefulness(heading, synthetic, private, on, unlearned string, a Accuracies) (sections []report.Section) {
	if on != "" {
		t := viz.Table{Header: []string{"logistic regression that has learned from", "accuracy on " + on}}
		t.Add(synthetic, a.Synthetic)
		t.Add(private, a.Real)
		t.Add("nothing: always the most frequent", a.Majority)
		sections = append(sections, report.Section{Heading: heading, NonPrivate: true, Tables: []viz.Table{t}})
	}
	if unlearned != "" {
		sections = append(sections, report.Section{Heading: heading, NonPrivate: true, Text: []string{"This was not measured: " + unlearned + "."}})
	}
	return sections
}

// Copied is the keeper's table of Nearness; what says which records it is of.
func Copied(what string, c *metric.Copies) []viz.Table {
	t := viz.Table{Header: []string{"", ""}}
	t.Add(what, fmt.Sprintf("%.1f ± %.1f %%", 100*c.NearerPrivate, 100*c.StandardError))
	t.Add("without copying", fmt.Sprintf("%.1f %%", 100*c.Expected))
	t.Add("median ratio of the distances", c.MedianRatio)
	return []viz.Table{t}
}

// LeaveForKeeper leaves the keeper's report, and a diagnosis in numbers.
func LeaveForKeeper(r *run.Run, d report.Document, diagnosis any) error {
	if err := WriteReport(r.WriteOwn, KeeperFile, d); err != nil {
		return err
	}
	return r.WriteOwn(KeeperFolder+"/values.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(diagnosis) })
}
