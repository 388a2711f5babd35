package lab

import (
	"errors"

	"molehill/pkg/compare"
	"molehill/pkg/run"
	"molehill/viz"
)

// Comparison is several runs side by side, finished or not. Its tables and figures are those
// of [compare.Comparison], for a cell.
type Comparison struct {
	compare.Comparison
	Runs []*Result
}

// Compare puts runs side by side:
//
//	c := lab.Compare(lab.Open("baseline"), r)
//	viz.Show(c.Figure(), c.Table())
func Compare(runs ...*Result) Comparison {
	if len(runs) == 0 {
		fail(errors.New("nothing to compare; give runs, such as lab.Compare(lab.Open(\"first\"), lab.Open(\"second\"))"))
	}
	return compared(List(runs).plain())
}

func compared(runs []*run.Run) Comparison {
	c := Comparison{Comparison: must(compare.Runs(runs))}
	for _, r := range c.Comparison.Runs {
		c.Runs = append(c.Runs, &Result{r})
	}
	return c
}

// Table shows what the runs differ in, how they stand and what they measured:
// the metrics that are named, or all.
func (c Comparison) Table(metrics ...string) viz.Table { return must(c.Comparison.Table(metrics...)) }

// Rows is the table with a row for each run, however few there are.
func (c Comparison) Rows(metrics ...string) viz.Table { return must(c.Comparison.Rows(metrics...)) }

// Summary is a row for each setting, with the metrics that are named, or all, as
// mean ± standard deviation over the seeds.
func (c Comparison) Summary(metrics ...string) viz.Table {
	return must(c.Comparison.Summary(metrics...))
}

// Against draws a metric against a setting that is a number, such as "epsilon":
// the mean over the seeds with a band of one standard deviation, and a line for
// each combination of the other settings.
func (c Comparison) Against(setting, metric string) viz.Curves {
	return must(c.Comparison.Against(setting, metric))
}

// Samples shows up to n images of each run that made some, beside each other.
func (c Comparison) Samples(n int) viz.Figure { return must(c.Comparison.Samples(n)) }
