package matching

import (
	"fmt"
	"slices"
	"strings"

	"molehill/models/backend"
	"molehill/privacy"
	"molehill/privacy/audit"
	"molehill/transport/sliced"
)

// Training is what an attack needs to know of one that follows noisy gradients. The
// records that it draws have a category for each sample of its pairs that is private, A
// before B, pair after pair; every record of a batch is in a sample.
type Training struct {
	Clipping Clipping
	Query    Query // what is known of a batch
	Outputs  int   // d
	// Sensitivity is that of its settings, which its statement must have too.
	Sensitivity privacy.Sensitivity
	Steps       int // that follow such gradients, the first of the plan
	// Points says that the record that is looked for is one of the first pair's Fixed
	// points.
	Points bool
	Later  []Later // in the plan's order
}

// Later are steps of the same plan, behind those before, that release something else of
// the records they draw, scaled to the same sensitivity.
type Later struct {
	Tell   string // what they are for, "that …"
	Steps  int
	Worlds audit.Worlds
}

// Worlds are gradients of the worst neighbours that are known, through this package's own
// clipping on a backend. In one dimension they are as far apart as Sensitivity says.
func (t Training) Worlds(on *backend.Backend) (audit.Worlds, error) {
	empty := func(s sliced.Sizes) bool { return s.A < 1 || s.B < 1 }
	if len(t.Query.Pairs) == 0 || slices.ContainsFunc(t.Query.Pairs, empty) || t.Outputs < 1 {
		return audit.Worlds{}, fmt.Errorf("matching: samples of %+v and %d outputs; an attack takes a pair at least, and one of each", t.Query.Pairs, t.Outputs)
	}
	return t.gradients(on, t.neighbours())
}

// Game attacks steps of a training that a statement is of, the first ones and some of each
// kind of later ones: Worlds, through the plan's samples and noise. The attacker chose all
// records and sees every release.
func (t Training) Game(on *backend.Backend, statement privacy.Statement) (audit.Game, error) {
	gradients, err := t.Worlds(on)
	if err != nil {
		return audit.Game{}, err
	}
	kinds := append([]Later{{Steps: t.Steps, Worlds: gradients}}, t.Later...)
	share(kinds, audit.Steps)
	var worlds []audit.Worlds
	var later strings.Builder
	percent := func(w audit.Worlds) float64 { return 100 * w.Apart() / t.Sensitivity.Value }
	for i, kind := range kinds {
		worlds = append(worlds, slices.Repeat([]audit.Worlds{kind.Worlds}, kind.Steps)...)
		if i > 0 && kind.Steps > 0 {
			fmt.Fprintf(&later, ", and of %d %s, %.0f %% apart", kind.Steps, kind.Tell, percent(kind.Worlds))
		}
	}
	plan, rate, err := audit.Stated(statement, t.Sensitivity, len(worlds), t.category(t.differs()))
	if err != nil {
		return audit.Game{}, err
	}
	return audit.Sampled(plan, rate, worlds...).Game(audit.Executions,
		fmt.Sprintf("one of two records whose outputs, Jacobians and losses clipping leaves as far apart as we know how to, %.0f %% of the sensitivity, seen through the releases of the first %d steps%s; the attacker knows what either record gives, and not which steps drew it", percent(gradients), min(kinds[0].Steps, plan.Steps), later.String()),
		append([]string{"the network itself: one of two parameters, which has whatever outputs and Jacobians the attacker wants, stands in its place"}, audit.NotTested(plan.Steps, statement.Steps)...)...), nil
}

// share leaves each kind of steps as many as all of them together may be, in equal parts;
// what the later ones do not need goes to those before.
func share(kinds []Later, most int) {
	for i := len(kinds) - 1; i >= 0; i-- {
		kinds[i].Steps = min(kinds[i].Steps, most/(i+1))
		most -= kinds[i].Steps
	}
}
