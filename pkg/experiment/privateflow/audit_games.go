package privateflow

import (
	"context"
	"math"
	"slices"

	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/privacy/noise"
	"molehill/transport"
	"molehill/transport/flow"
	"molehill/transport/sliced"
)

// Game tells ±the most sensitive direction apart in every row at once: each row
// has noise of its own.
func (e presampled) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	u, err := directions(c, public).Draw(dim, 0)
	if err != nil {
		return audit.Game{}, err
	}
	along, err := u.MostStretched()
	if err != nil {
		return audit.Game{}, err
	}
	projected := make([]float32, u.Count)
	for j := range projected {
		sliced.ProjectOn(projected[j:j+1], transport.Points{Dim: dim, Data: along}, u.Row(j))
	}
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: n, Bits: n, Executions: max(4, 40_000/n), Apart: true, Gaussian: true,
		Tested:    "a record at the end of the direction that these projections stretch most, replaced by its antipode, seen through the release of every row's noisy projections; the attacker knows the directions and all other records",
		NotTested: notTested,
		Play: func(_ context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			records := canaries(bits, n, along)
			guide, err := e.Guide(c, Records{Points: records}, plan.Releaser(secret), public)
			if err != nil {
				return nil, err
			}
			table, err := rows(records, u, guide.(flow.Slices).Target.(*flow.Released).Quantiles, plan.Releaser(secret), 0)
			if err != nil {
				return nil, err
			}
			scores := make([]float64, len(bits))
			for j, row := range table {
				weight := 2 * float64(projected[j]) / (plan.NoiseStd * plan.NoiseStd)
				for i := range scores {
					scores[i] += weight * float64(row[i])
				}
			}
			return scores, nil
		},
	}, nil
}

// Game hides many canaries in one execution, each a random unit record or its
// antipode, among records that are all alike. The attacker does not know which
// rows a step drew, nor in which order: that is part of the mechanism.
func (e resampled) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	const most = 10_000
	batch := float64(c.Batch)
	rate := batch / float64(n)
	forms := transport.NewPoints(min(n, most), dim)
	rng := public.Stream("canaries", 0)
	for i := range forms.Data {
		forms.Data[i] = float32(rng.NormFloat64())
	}
	forms.OnSphere()
	others := make([]float32, dim)
	others[0] = 1
	return audit.Game{
		Relation: privacy.ReplaceOne, Canaries: forms.Len(), Bits: min(300, n), Executions: max(1, min(4, 2000/plan.Steps)),
		Tested:    "random unit records, each replaced by its antipode, among equal records, seen through every step's release of a secret sample's noisy projections; the attacker knows the directions and all records, and neither the samples nor their order",
		NotTested: append(slices.Clone(notTested), "attackers who are told which records a step drew: the sample is secret, and much of the privacy is in that"),
		Play: func(ctx context.Context, bits []bool, secret noise.Source) ([]float64, error) {
			records := canaries(make([]bool, 0), n, others)
			for i, one := range bits {
				for k, v := range forms.Row(i) {
					if !one {
						v = -v
					}
					records.Row(i)[k] = v
				}
			}
			guide, err := e.Guide(c, Records{Points: records}, plan.Releaser(secret), public)
			if err != nil {
				return nil, err
			}
			release := plan.Releaser(secret)
			scores := make([]float64, len(bits))
			for step := range plan.Steps {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				u, answered, err := guide.(flow.Slices).At(step)
				if err != nil {
					return nil, err
				}
				table, err := rows(records, u, answered, release, step)
				if err != nil {
					return nil, err
				}
				sample(scores, table, u, forms, others, plan.NoiseStd, rate)
			}
			return scores, nil
		},
	}, nil
}

// sample adds the evidence of one sample's noisy rows, [Count][batch]: the log
// of the likelihood ratio with the form in one of the rows, at the sampling
// rate, against its negative there, where all other rows are others.
func sample(scores []float64, table [][]float32, u sliced.Directions, forms transport.Points, others []float32, std, rate float64) {
	batch, dim := len(table[0]), u.Dim
	// What a row y = xU + Z tells of x is yUᵀ − othersUUᵀ: dim numbers.
	told := make([]float64, batch*dim)
	project := func(x []float32, direction []float32) (along float64) {
		for c, v := range x {
			along += float64(v) * float64(direction[c])
		}
		return along
	}
	for j, row := range table {
		direction := u.Row(j)
		known := project(others, direction)
		for i, y := range row {
			for c, d := range direction {
				told[i*dim+c] += (float64(y) - known) * float64(d)
			}
		}
	}
	variance := std * std
	transport.Parallel(len(scores), func() []float64 { return make([]float64, dim) }, func(away []float64, i int) {
		var evidence [2]float64
		for sign := range evidence {
			var norm float64 // of (x − others)U, squared
			for c, v := range forms.Row(i) {
				away[c] = float64(v)*float64(1-2*sign) - float64(others[c])
			}
			for j := range u.Count {
				var along float64
				for c, d := range u.Row(j) {
					along += away[c] * float64(d)
				}
				norm += along * along
			}
			var mean float64
			for row := range batch {
				var inner float64
				for c, v := range told[row*dim : (row+1)*dim] {
					inner += v * away[c]
				}
				mean += math.Exp((inner - norm/2) / variance)
			}
			evidence[sign] = math.Log1p(rate * (mean/float64(batch) - 1))
		}
		scores[i] += evidence[0] - evidence[1]
	})
}

// Game asks for one bit an execution: whether a record within the lowest bin of
// each direction, or the highest, is one end of a diameter or the other. No
// neighbours are further apart.
func (e sketched) Game(c *Config, n, dim int, plan privacy.Plan, public noise.Source) (audit.Game, error) {
	d := directions(c, public)
	d.Stack = true
	u, err := d.Draw(dim, 0)
	if err != nil {
		return audit.Game{}, err
	}
	along, err := u.MostStretched()
	if err != nil {
		return audit.Game{}, err
	}
	// Half a bin of records at the far end: the record that is moved takes the
	// next place, in the middle of the bin.
	var worlds [2]Records
	for world := range worlds {
		worlds[world] = Records{Points: canaries(append([]bool{world == 1}, make([]bool, n/(2*c.Bins))...), n, along)}
	}
	return apart(e, c, plan, public, worlds,
		"a record that half a bin of records share one end of a diameter with, replaced by its antipode, seen through the release of the whole sketch; the attacker knows the directions and all other records")
}
