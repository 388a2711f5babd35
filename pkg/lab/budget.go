package lab

import (
	"fmt"
	"math"

	"molehill/pkg/dataset"
	"molehill/privacy"
	"molehill/viz"
)

// history is what `molehill budget history --json` answers, as far as a picture
// needs it.
type history struct {
	Dataset string
	Budget  *struct {
		Epsilon, Delta float64
		FromNow        bool `json:"from_now"`
		Order          float64
	}
	Entries []struct {
		Kind    string
		ID      string
		Epsilon *privacy.Epsilon
	}
}

// Budget is the picture of a data set's budget: ε of everything that its runs
// have released so far, composed by the accountant, below what may be spent.
func Budget(dataset string) viz.Annotated {
	var h history
	if err := ask(&h, "budget", "history", dataset, "--json"); err != nil {
		fail(err)
	}
	return must(h.figure())
}

// figure draws what is spent after each reservation.
func (h history) figure() (viz.Annotated, error) {
	if h.Budget == nil {
		if source, err := dataset.Registry.Lookup(h.Dataset); err == nil && source.Public() {
			return viz.Annotated{}, fmt.Errorf("%s is public by construction: it needs no budget, and has none to draw", h.Dataset)
		}
		return viz.Annotated{}, fmt.Errorf("%s has no budget to draw; `molehill budget create %s --epsilon 10 --delta 1e-5` declares one", h.Dataset, h.Dataset)
	}
	x, y := []float64{0}, []float64{0}
	var spent float64
	runs := 0
	for _, e := range h.Entries {
		if e.Epsilon == nil {
			continue
		}
		spent = float64(*e.Epsilon)
		if runs == 0 && e.Kind != "reservation" {
			y[0] = spent // before the budget was declared
		}
		if e.Kind == "reservation" {
			runs++
			x, y = append(x, float64(runs)), append(y, spent)
		}
	}
	all := "all reservations"
	if h.Budget.FromNow {
		all = "the reservations since the budget was declared, none of before"
	}
	filter := ""
	if h.Budget.Order != 0 {
		filter = fmt.Sprintf(" It is a Rényi filter: of order %.4g whatever comes, at which even a small run comes to a large ε, and later ones to little more.", h.Budget.Order)
	}
	return viz.Annotated{
		Curves: viz.Curves{
			Title:      fmt.Sprintf("The privacy budget of %s", h.Dataset),
			Caption:    fmt.Sprintf("ε at δ = %g, composed over %s; a run that crashed stays paid for.%s", h.Budget.Delta, all, filter),
			X:          viz.Axis{Label: "runs that reserved", Max: float64(max(5, runs))},
			Y:          viz.Axis{Label: "ε spent", Min: 0, Max: 1.12 * math.Max(h.Budget.Epsilon, spent)},
			Lines:      []viz.Line{{X: x, Y: y}},
			References: []viz.Reference{{Name: fmt.Sprintf("budget, ε = %v", privacy.Epsilon(h.Budget.Epsilon)), Value: h.Budget.Epsilon}},
			Height:     320,
		},
		Notes: []viz.Note{{
			X: x[len(x)-1], Y: spent, Left: true, Line: 1, Dot: true,
			Text: fmt.Sprintf("spent: ε = %v of %v", privacy.Epsilon(spent), privacy.Epsilon(h.Budget.Epsilon)),
		}},
	}, nil
}
