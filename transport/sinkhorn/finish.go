package sinkhorn

import (
	"math"

	"molehill/transport/sinkhorn/internal/kernel"
)

// finish measures the plan that the potentials make, and turns them into the
// caller's units and indices.
func (r *Result) finish(tolerance float64) {
	s := r.solution
	if s.reach == 0 && s.flat() {
		s.refine() // from potentials that may be rounding and nothing else
		s.refine()
	}
	s.loadColumns()
	if s.reach == 0 {
		r.finishBalanced()
	} else {
		r.finishUnbalanced()
	}
	r.MarginalError /= s.mass
	r.Converged = r.MarginalError <= tolerance
	r.F, r.G = r.potentials()
	s.loadColumns() // for the plan's readers, who may be many
}

// planRows calls visit with every row of the plan.
func (s *state) planRows(start func(chunk int), visit func(w scratch, chunk, i int, costs []float64, sum float64)) {
	rate := 1 / s.epsilon
	s.byRow(false, start, func(w scratch, chunk, i int, costs []float64) {
		visit(w, chunk, i, costs, kernel.PlanRow(w.plan, s.v, costs, s.f[i]+s.logA[i], rate))
	})
}

// values in units of the cost of a plan with marginals rows and columns whose
// entries are P_ij·x_i·y_j: ⟨C, ·⟩ + ε·KL(·|a⊗b) is linear in its logarithms, of
// which the costs cancel.
func (s *state) regularised(rows, columns, logX, logY []float64, product float64) float64 {
	var value, mass float64
	for i, r := range rows {
		value += weighted(r, s.f[i]+logX[i])
		mass += r
	}
	for j, c := range columns {
		value += weighted(c, s.g[j]+logY[j])
	}
	return s.epsilon * (value - mass + product)
}

// weighted is weight·value, 0 for no weight.
func weighted(weight, value float64) float64 {
	if weight == 0 {
		return 0
	}
	return weight * value
}

func (r *Result) finishBalanced() {
	s := r.solution
	n, m := len(s.a), len(s.b)
	rows, x, y := make([]float64, n), make([]float64, n), make([]float64, m)
	logX, logY := make([]float64, n), make([]float64, m)
	// The marginals of P, and of P with its rows scaled down to their shares.
	scaled := make([][]float64, len(s.columns))
	s.planRows(func(chunk int) {
		s.clearChunk(chunk)
		scaled[chunk] = make([]float64, m)
	}, func(w scratch, chunk, i int, _ []float64, sum float64) {
		rows[i], x[i] = sum, min(1, s.a[i]/sum)
		logX[i] = math.Log(x[i])
		kernel.AddScaled(s.columns[chunk], w.plan, 1)
		kernel.AddScaled(scaled[chunk], w.plan, x[i])
	})
	s.gather()
	var dual, mass float64
	for i, a := range s.a {
		dual += a * s.f[i]
		mass += rows[i]
		r.MarginalError += math.Abs(rows[i] - a)
	}
	for j, b := range s.b {
		dual += b * s.g[j]
		r.MarginalError += math.Abs(s.sums[j] - b)
	}
	r.Dual = s.epsilon * (dual - mass + 1)

	// Then its columns; what is missing in rows and columns is spread as a
	// product.
	columns := make([]float64, m)
	for _, chunk := range scaled {
		kernel.AddScaled(columns, chunk, 1)
	}
	for j, c := range columns {
		y[j] = min(1, s.b[j]/c)
		if c == 0 {
			y[j] = 1
		}
		logY[j] = math.Log(y[j])
		columns[j] *= y[j]
	}
	missingRows, missingColumns := make([]float64, n), make([]float64, m)
	transports := make([]float64, len(s.columns))
	s.planRows(func(int) {}, func(w scratch, chunk, i int, costs []float64, _ float64) {
		var sum, cost float64
		for j, p := range w.plan {
			p *= x[i] * y[j]
			sum += p
			cost += p * costs[j]
		}
		rows[i] = sum
		missingRows[i] = max(0, s.a[i]-sum)
		transports[chunk] += cost
	})
	var missing, missingAlso float64
	for j, c := range columns {
		missingColumns[j] = max(0, s.b[j]-c)
		missingAlso += missingColumns[j]
	}
	for _, v := range missingRows {
		missing += v
	}
	for _, t := range transports {
		r.Transport += t
	}
	r.Primal = s.regularised(rows, columns, logX, logY, 1)
	if missing > 0 && missingAlso > 0 {
		r.spread(missingRows, missingColumns, missing, missingAlso)
	}
	if s.flat() { // of a⊗b, which is as good there
		product := s.independent()
		r.Dual = s.epsilon * (dual - product.excess)
		r.Primal, r.Transport = product.cost, product.cost
	}
	r.Dual, r.Primal, r.Transport = r.Dual+s.rows.offset, r.Primal+s.rows.offset, r.Transport+s.rows.offset
}

// spread adds the plan missingRows⊗missingColumns to what Primal and Transport
// hold so far, of a plan of mass 1−missing. The entropy of the two together is
// at most what convexity allows; with little missing that is hardly more.
func (r *Result) spread(missingRows, missingColumns []float64, missing, missingAlso float64) {
	s := r.solution
	costs := make([]float64, len(s.columns))
	s.byRow(false, func(int) {}, func(w scratch, chunk, i int, row []float64) {
		if missingRows[i] == 0 {
			return
		}
		var sum float64
		for j, c := range row {
			sum += missingColumns[j] * c
		}
		costs[chunk] += missingRows[i] * sum / missingAlso
	})
	var cost float64
	for _, c := range costs {
		cost += c
	}
	r.Transport += cost
	// KL(t·Q + (1−t)·R) ≤ t·KL(Q) + (1−t)·KL(R) of plans Q and R of mass 1, where
	// (1−t)·KL(R) of the plan of mass 1−t is its own divergence, less what its
	// mass adds: (1−t)·log(1−t) + t.
	t := min(missing, 1)
	divergence := -t
	if t < 1 {
		divergence -= (1 - t) * math.Log1p(-t)
	}
	for i, v := range missingRows {
		divergence += t * relativeEntropy(v/missing, s.a[i])
	}
	for j, v := range missingColumns {
		divergence += t * relativeEntropy(v/missingAlso, s.b[j])
	}
	r.Primal += cost + s.epsilon*divergence
}

func relativeEntropy(p, q float64) float64 {
	if p == 0 {
		return 0
	}
	return p * math.Log(p/q)
}

// divergence is p·log(p/q) − p + q, of which little is left where p is near q.
func divergence(p, q float64) float64 {
	if more := (p - q) / q; math.Abs(more) < 0.5 {
		return q * ((1+more)*math.Log1p(more) - more)
	}
	return relativeEntropy(p, q) - p + q
}

func (r *Result) finishUnbalanced() {
	s := r.solution
	rows := make([]float64, len(s.a))
	transports := make([]float64, len(s.columns))
	s.planRows(s.clearChunk, func(w scratch, chunk, i int, costs []float64, sum float64) {
		rows[i] = sum
		kernel.AddScaled(s.columns[chunk], w.plan, 1)
		var cost float64
		for j, p := range w.plan {
			cost += p * costs[j]
		}
		transports[chunk] += cost
	})
	s.gather()
	for _, t := range transports {
		r.Transport += t
	}
	rho := s.reach
	var massA, massB, mass, penalty, dual float64
	side := func(shares, logShares, potentials, sums []float64, total *float64) {
		for i, a := range shares {
			*total += a
			sum := sums[i]
			// a·e^(−f/ρ) − a, and KL(sum | a).
			dual -= rho * a * math.Expm1(-potentials[i]*s.epsilon/rho)
			penalty += rho * divergence(sum, a)
			if sum < smallest { // and what it should be is as little
				r.MarginalError += math.Abs(sum - a*math.Exp(min(-potentials[i]*s.epsilon/rho, 600)))
				continue
			}
			logSum := math.Log(sum)
			r.MarginalError += moved(logSum, s.change(potentials[i], logShares[i]-logSum))
		}
	}
	side(s.a, s.logA, s.f, rows, &massA)
	side(s.b, s.logB, s.g, s.sums, &massB)
	for _, v := range rows {
		mass += v
	}
	zeros := make([]float64, max(len(s.a), len(s.b)))
	r.Dual = dual - s.epsilon*(mass-massA*massB)
	r.Primal = s.regularised(rows, s.sums, zeros, zeros, massA*massB) + penalty
	if s.flat() {
		plan := s.independent()
		r.Dual = dual - s.epsilon*plan.excess
		r.Primal = r.Transport + s.epsilon*plan.divergence + penalty
	}
}

// potentials returns those of all points in the unit of the cost.
func (r *Result) potentials() (f, g []float64) {
	s := r.solution
	shift := 0.0
	if s.reach == 0 && !s.same {
		for i, a := range s.a {
			shift += a * s.f[i]
		}
		for j, b := range s.b {
			shift -= b * s.g[j]
		}
		shift /= 2
		for i := range s.f {
			s.f[i] -= shift
		}
		for j := range s.g {
			s.g[j] += shift
		}
	}
	f, g = make([]float64, r.kept.n), make([]float64, r.kept.m)
	place(f, s.f, r.kept.x, s.epsilon, s.rows.offset/2)
	place(g, s.g, r.kept.y, s.epsilon, s.rows.offset/2)
	return f, g
}

// place writes values·factor + offset to the indices of dst, nil for all.
func place(dst, values []float64, indices []int, factor, offset float64) {
	for i, v := range values {
		dst[index(indices, i)] = v*factor + offset
	}
}

// extend gives points of no weight the potentials that they would have with
// very little: the soft minimum of their costs to the other side.
func (r *Result) extend(p Problem) {
	s := r.solution
	costs := make([]float64, max(len(s.a), len(s.b)))
	offset := s.rows.offset
	for _, i := range dropped(r.kept.x, r.kept.n) {
		for j := range s.b {
			costs[j] = p.Cost.At(p.X.Row(i), s.rows.y.Row(j)) - offset
		}
		r.F[i] = s.epsilon*s.softMinimum(costs[:len(s.b)], s.g, s.logB) + offset/2
	}
	for _, j := range dropped(r.kept.y, r.kept.m) {
		for i := range s.a {
			costs[i] = p.Cost.At(s.rows.x.Row(i), p.Y.Row(j)) - offset
		}
		r.G[j] = s.epsilon*s.softMinimum(costs[:len(s.a)], s.f, s.logA) + offset/2
	}
}

// dropped returns which of 0 … n−1 are not kept; nil keeps all.
func dropped(kept []int, n int) (indices []int) {
	if kept == nil {
		return nil
	}
	for i := range n {
		if len(kept) > 0 && kept[0] == i {
			kept = kept[1:]
		} else {
			indices = append(indices, i)
		}
	}
	return indices
}

// softMinimum is −κ·log Σ_j w_j·exp(g_j − c_j/ε), a potential in units of ε.
func (s *state) softMinimum(costs, g, logWeights []float64) float64 {
	peak := math.Inf(-1)
	for j, c := range costs {
		peak = max(peak, g[j]+logWeights[j]-c/s.epsilon)
	}
	var sum float64
	for j, c := range costs {
		sum += math.Exp(g[j] + logWeights[j] - c/s.epsilon - peak)
	}
	return -s.damping() * (peak + math.Log(sum))
}
