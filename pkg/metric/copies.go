package metric

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"molehill/transport"
)

// Copies tells whether generated points are copies of private rows: whether
// they are nearer to those than to held-out rows of the same law, which nothing
// could have copied.
type Copies struct {
	NearerPrivate float64 // share of the generated points whose nearest row is private; ties count half
	Expected      float64 // that share without copying: private rows/all rows
	StandardError float64 // of NearerPrivate, as of independent points
	MedianRatio   float64 // of the distance to the nearest private row to that of the nearest held-out row
	Exact         int     // generated points that are a private row to the last bit, and no held-out one

	ToPrivate, ToHeldOut []float64 // [n], distances of the generated points to the nearest rows
}

// Values are the numbers by the names that runs keep them under. Of the distances they
// have the median and what one point of a hundred is below, where a few copies among many
// points show.
func (c Copies) Values() map[string]float64 {
	values := map[string]float64{
		"nearer a private row": c.NearerPrivate, "nearer a private row error": c.StandardError,
		"nearer a private row without copying": c.Expected,
		"median ratio of distances":            c.MedianRatio, "exact copies": float64(c.Exact),
	}
	for to, distances := range map[string][]float64{"private": c.ToPrivate, "held-out": c.ToHeldOut} {
		if len(distances) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(distances))
		values["nearest "+to+" row, median"] = stat.Quantile(0.5, stat.LinInterp, sorted, nil)
		values["nearest "+to+" row, 1 %"] = stat.Quantile(0.01, stat.LinInterp, sorted, nil)
	}
	return values
}

// CheckCopies measures how near generated points are to private and to held-out
// rows. More copies than expected show in a NearerPrivate above Expected by
// several standard errors. With as many private as held-out rows Expected is ½
// and MedianRatio ideally 1; with more private ones the nearest is nearer, and
// the ratio below 1 without any copying.
//
// It looks at the private rows, and no budget is charged: it is for research on
// public data or for the keeper of the rows, not for release.
func CheckCopies(ctx context.Context, generated, private, heldOut transport.Points) (Copies, error) {
	for _, p := range []transport.Points{generated, private, heldOut} {
		if err := p.Check(); err != nil {
			return Copies{}, err
		}
	}
	n := generated.Len()
	c := Copies{Expected: float64(private.Len()) / float64(private.Len()+heldOut.Len())}
	var squares [2][]float64
	for side, rows := range []transport.Points{private, heldOut} {
		found, err := nearest(ctx, generated, rows, 1, false)
		if err != nil {
			return Copies{}, fmt.Errorf("copies: %w", err)
		}
		for _, its := range found {
			squares[side] = append(squares[side], its[0].squared)
		}
	}
	ratios := make([]float64, n)
	var nearer float64
	for i, p := range squares[0] {
		h := squares[1][i]
		switch {
		case p < h:
			nearer++
		case p == h:
			nearer += 0.5
		}
		if p == 0 && h > 0 {
			c.Exact++
		}
		c.ToPrivate, c.ToHeldOut = append(c.ToPrivate, math.Sqrt(p)), append(c.ToHeldOut, math.Sqrt(h))
		if ratios[i] = math.Sqrt(p / h); p == h { // also 0/0
			ratios[i] = 1
		}
	}
	c.NearerPrivate = nearer / float64(n)
	c.StandardError = math.Sqrt(c.NearerPrivate * (1 - c.NearerPrivate) / float64(n))
	slices.Sort(ratios)
	c.MedianRatio = (ratios[(n-1)/2] + ratios[n/2]) / 2
	if math.IsInf(c.MedianRatio, 0) { // held-out rows copied; JSON has no infinity
		c.MedianRatio = math.MaxFloat64
	}
	return c, nil
}
