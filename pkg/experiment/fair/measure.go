package fair

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"molehill/models/matching"
	"molehill/models/train"
	"molehill/pkg/dataset"
	"molehill/pkg/metric"
	"molehill/pkg/metric/fairness"
	"molehill/pkg/metric/utility"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// testLines are the directions of sliced distances between outputs on test records.
const testLines = 128

// finish measures what the model has learned on records that it has not seen, and
// leaves its outputs.
func (t *training) finish(r *run.Run, test *Records) (result run.Result, err error) {
	target, err := t.config.kind.target(test)
	if err != nil {
		return result, err
	}
	inner, err := t.learner.Inner(test.X)
	if err != nil {
		return result, err
	}
	output, err := t.learner.Output(test.X)
	if err != nil {
		return result, err
	}
	losses, err := t.learner.Losses(test.X, target)
	if err != nil {
		return result, err
	}
	points := transport.Points{Dim: t.model.Outputs, Data: inner}
	if err := cmp.Or(train.Finite("what the model predicts", inner...), train.Finite("its loss", losses...)); err != nil {
		return result, err
	}
	if err := r.WriteTable(Predictions, withGroups(points, test), points.Dim+2); err != nil {
		return result, err
	}
	m := run.Values{"steps": float64(t.config.Steps)}
	told, err := matching.TellNoise(m, t.NoiseStd, t.learner.Parameters())
	if err != nil {
		return result, err
	}
	for _, loss := range losses {
		m["task loss"] += float64(loss) / float64(len(losses))
	}
	if m["distance"], err = distance(points, test, groups(t.config.Criterion)); err != nil {
		return result, err
	}
	m["loss"] = (1-t.config.Alpha)*m["task loss"] + t.config.Alpha*m["distance"]
	result.Metrics = m
	result.Note = fmt.Sprintf("on %d records that the model has not seen; distance is the squared sliced W₂ of the loss, between outputs as they are; %s", test.Len(), told)
	return result, t.config.kind.measure(m, test, output, inner)
}

// withGroups returns points with A and Y of each beside it.
func withGroups(p transport.Points, r *Records) (table []float32) {
	for i := range p.Len() {
		table = append(append(table, p.Row(i)...), float32(r.Group[i]), float32(r.Label[i]))
	}
	return table
}

// distance is the mean over pairs of groups of the squared sliced W₂ of their points.
func distance(p transport.Points, r *Records, of []group) (mean float64, err error) {
	lines := sliced.Orthonormal(p.Dim, (testLines+p.Dim-1)/p.Dim, rand.New(rand.NewPCG(1, 0x66616972)))
	if p.Dim == 1 {
		lines = sliced.Orthonormal(1, 1, rand.New(rand.NewPCG(1, 0)))
	}
	for k := 0; k < len(of); k += 2 {
		d, err := sliced.SW2(r.in(of[k], p), r.in(of[k+1], p), lines)
		if err != nil {
			return 0, err
		}
		mean += d.Power / float64(len(of)/2)
	}
	return mean, nil
}

// in returns those of the records' points that are of a group.
func (r *Records) in(g group, p transport.Points) transport.Points {
	var at []int
	for i := range r.Len() {
		if g.has(r, i) {
			at = append(at, i)
		}
	}
	return p.Subset(at)
}

// sides are the values of each group as float64.
func (r *Records) sides(values []float32) (sides [2][]float64) {
	for i, v := range values {
		sides[r.Group[i]] = append(sides[r.Group[i]], float64(v))
	}
	return sides
}

// measureDecisions is what C.3 has below its figures, of scores, [n].
func measureDecisions(m run.Values, r *Records, output, _ []float32) error {
	decisions, right := make([]bool, r.Len()), 0
	for i, p := range output {
		if decisions[i] = p > 0.5; decisions[i] == (r.Label[i] == 1) {
			right++
		}
	}
	m["accuracy"] = float64(right) / float64(r.Len())
	sides := r.sides(output)
	for _, measure := range []struct {
		name string
		of   func() (float64, error)
	}{
		{"disparate impact", func() (float64, error) { return fairness.DisparateImpact(decisions, r.Group) }},
		{"parity gap", func() (float64, error) { return fairness.ParityGap(decisions, r.Group) }},
		{"EO₀", func() (float64, error) { return fairness.Odds(decisions, r.Group, r.Label, 0) }},
		{"EO₁", func() (float64, error) { return fairness.Odds(decisions, r.Group, r.Label, 1) }},
		{"KS", func() (float64, error) { return fairness.KolmogorovSmirnov(sides[0], sides[1]) }},
	} {
		var err error
		if m[measure.name], err = measure.of(); err != nil {
			return err
		}
	}
	return nil
}

// measurePlane is what C.4 has, of predictions in the plane, [n, 2].
func measurePlane(m run.Values, r *Records, output, _ []float32) error {
	over, err := fairness.OverDiagonal(transport.Points{Dim: 2, Data: output}, r.Group)
	m["OD₀"], m["OD₁"] = over[0], over[1]
	return err
}

// measureLine is what Remark C.4 has, of predictions, [n]. Mean squared error and W₂²
// are "task loss" and "distance" already.
func measureLine(m run.Values, r *Records, output, _ []float32) (err error) {
	sides := r.sides(output)
	m["KS"], err = fairness.KolmogorovSmirnov(sides[0], sides[1])
	return err
}

// measureCodes is what C.5 has: the squared error of the features that do not tell
// the group, and what logistic regression makes of codes, learned from 60 % of them
// and measured on the rest.
func measureCodes(m run.Values, r *Records, output, inner []float32) error {
	for i := range r.Len() {
		for j := range r.Core {
			m["core loss"] += math.Pow(float64(output[i*r.Dim+j]-r.X[i*r.Dim+j]), 2) / float64(r.Len())
		}
	}
	standard := standardised(transport.Points{Dim: 2, Data: inner})
	cut := r.Len() * 6 / 10
	part := func(first, last int) *dataset.Dataset {
		return &dataset.Dataset{Name: "codes", Origin: "an encoder", Height: 1, Width: 2, Channels: 1,
			X: standard[2*first : 2*last], Labels: r.Label[first:last], Classes: []string{"0", "1"}}
	}
	model, err := utility.DefaultLogistic.Fit(context.Background(), part(0, cut), 0, nil)
	if err != nil {
		return fmt.Errorf("what codes are good for: %w", err)
	}
	found, err := model.Predict(part(cut, r.Len()))
	if err != nil {
		return err
	}
	decisions := make([]bool, len(found))
	for i, label := range found {
		decisions[i] = label == 1
	}
	m["accuracy"] = metric.Agreement(found, r.Label[cut:]).Value
	m["disparate impact"], err = fairness.DisparateImpact(decisions, r.Group[cut:])
	return err
}

// standardised returns columns of mean 0 and deviation 1, as regression is penalised.
func standardised(p transport.Points) []float32 {
	x := p.Clone()
	column := make([]float64, x.Len())
	for j := range x.Dim {
		for i := range column {
			column[i] = float64(x.Row(i)[j])
		}
		mean, deviation := stat.MeanStdDev(column, nil)
		if !(deviation > 0) {
			deviation = 1
		}
		for i, v := range column {
			x.Row(i)[j] = float32((v - mean) / deviation)
		}
	}
	return x.Data
}
