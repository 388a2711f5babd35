package transporttest

import (
	"slices"
	"testing"
)

// Sinkhorns runs all laws of entropic transport as subtests.
func Sinkhorns(t *testing.T, e Sinkhorn) {
	t.Helper()
	if e.SolveAll == nil {
		e.Lacks = append(slices.Clone(e.Lacks), Batches)
	}
	run(t, e, e.Name, e.Lacks, sinkhornLaws())
}

func sinkhornLaws() []law[Sinkhorn] {
	return []law[Sinkhorn]{
		// Known answers.
		{"Diracs", nil, diracs},
		{"one place against many", []Feature{Plans}, onePlace},
		{"permutation", []Feature{Plans}, permutation},
		{"translation", []Feature{Plans}, translation},
		{"convex gradient", []Feature{Plans}, convexGradient},
		{"Gaussians", nil, gaussians},
		{"entropic Gaussians", []Feature{Weights}, entropicGaussians},
		{"exact assignment", nil, exactAssignment},
		{"quantiles on the line", []Feature{Weights, Sizes}, quantiles},
		{"large epsilon", nil, largeEpsilon},
		{"divergence of a translation", nil, divergenceOfTranslation},
		// What the solution is.
		{"marginals", []Feature{Plans}, marginals},
		{"plan of potentials", []Feature{Plans}, planOfPotentials},
		{"dual below primal", []Feature{Plans}, dualBelowPrimal},
		{"transport cost", []Feature{Plans}, valueOfPlan},
		// What changes nothing, and what changes with what.
		{"symmetry", []Feature{Plans}, symmetry},
		{"order of points", []Feature{Plans}, orderOfPoints},
		{"scaled cost", []Feature{Plans}, scaledCost},
		{"scaled points", []Feature{Plans}, scaledPoints},
		{"scaled weights", []Feature{Weights, Plans}, scaledWeights},
		{"moved together", []Feature{Plans}, movedTogether},
		{"concave in the cost", nil, concaveInCost},
		{"cost of one's own", []Feature{OwnCosts, Plans}, ownCost},
		{"split atom", []Feature{Weights, Plans}, splitAtom},
		{"atom without weight", []Feature{Weights, Plans}, weightless},
		{"divergence is a divergence", nil, divergenceSign},
		// Derivatives.
		{"gradient", []Feature{Gradients}, gradient},
		{"gradient of the divergence", []Feature{Gradients}, gradientOfDivergence},
		{"unbalanced gradient", []Feature{Gradients, Unbalanced, Weights}, unbalancedGradient},
		// Ways to the solution.
		{"batched as looped", []Feature{Batches, Plans}, batched},
		{"warm start", []Feature{WarmStart}, warmStart},
		{"marked when not converged", nil, notConverged},
		{"small epsilon", []Feature{SmallEpsilon}, smallEpsilon},
		{"overflow", nil, overflow},
		{"bad input", []Feature{BadInput}, badInput},
		// Unbalanced.
		{"unbalanced Diracs", []Feature{Unbalanced, Weights, Plans}, unbalancedDiracs},
		{"unbalanced marginals", []Feature{Unbalanced, Weights, Sizes, Plans}, unbalancedMarginals},
		{"unbalanced tends to balanced", []Feature{Unbalanced, Sizes}, unbalancedTendsToBalanced},
	}
}
