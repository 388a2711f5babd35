// Package accounting is the registry of accountants: those of
// molehill/privacy/accountant, and others to set beside them.
//
// What a run promises rests on Molehill's own sound accountants alone, whatever
// is registered here. An accountant of somebody else is asked by `molehill
// epsilon`, and its ε is marked as not proved: its theorem is its author's.
package accounting

import (
	"fmt"
	"math"

	"molehill/pkg/plugin"
	"molehill/privacy/accountant"
)

// Accountant bounds the privacy loss of an event, under a name by which it is
// found: Describe's name is that of accountant.Accountant's Name.
type Accountant interface {
	plugin.Plugin
	accountant.Accountant
}

// Registry holds the accountants.
var Registry = plugin.Registry[Accountant]{Kind: kind}

const kind = "accountant"

// own is one of molehill/privacy/accountant.
type own struct {
	accountant.Accountant
	info plugin.Info
}

func (o own) Describe() plugin.Info { return o.info }

func init() {
	about := map[string][2]string{ // by name: summary, source
		"analytic-gaussian":  {"Gaussian releases of all records, exact", "Balle & Wang 2018"},
		"pld":                {"Gaussian and Laplace releases, also of samples, by the distribution of the privacy loss; all but exact", "Doroshenko et al. 2022; Zhu, Dong & Wang 2022"},
		"rdp":                {"Gaussian releases, also of samples, Laplace noise and selections, by Rényi divergences", "Mironov 2017; Mironov, Talwar & Zhang 2019; Balle, Barthe & Gaboardi 2018; Papernot & Steinke 2022"},
		"gdp":                {"Gaussian releases, exact; of samples by a central limit, which is not a bound; as in 004", "Dong, Roth & Su 2022; Bu et al. 2020"},
		"moments":            {"Poisson samples, as published, for comparison", "Abadi et al. 2016"},
		"moments-cumulative": {"the same with moments added up across orders, as in the public code of 003", "003, public code"},
		"classic-gaussian":   {"√(2 ln(1.25/δ))/σ, proved for ε ≤ 1, to reproduce papers", "Dwork & Roth 2014"},
	}
	for _, a := range accountant.All() {
		text := about[a.Name()]
		Registry.Register(own{a, plugin.Info{Name: a.Name(), Summary: text[0], Source: text[1], Version: "1"}})
	}
}

// All returns Molehill's accountants in their own order, then the others by
// name, those guarded.
func All() []accountant.Accountant {
	all := accountant.All()
	for _, a := range Registry.All() {
		if _, ours := a.(own); !ours {
			all = append(all, Checked{a})
		}
	}
	return all
}

// Checked is an accountant of somebody else: one that panics or answers with
// what is no ε gives an error with its name, and no answer of it counts as
// proved.
type Checked struct{ Accountant }

// Name implements accountant.Accountant: the name that it is registered under.
func (c Checked) Name() (name string) {
	_ = plugin.Guard(kind, "", "Describe", func() error { // it had a name when it was registered
		name = c.Describe().Name
		return nil
	})
	return name
}

// Epsilon implements accountant.Accountant.
func (c Checked) Epsilon(e accountant.Event, rel accountant.Relation, delta float64) (r accountant.Result, err error) {
	name := c.Name()
	err = plugin.Guard(kind, name, "Epsilon", func() error {
		r, err = c.Accountant.Epsilon(e, rel, delta)
		return err
	})
	switch {
	case err != nil:
		return accountant.Result{}, err
	case !(r.Epsilon >= 0): // +Inf is an answer
		return accountant.Result{}, fmt.Errorf("accountant %q answers ε = %v; expected a number of at least 0, or +Inf", name, r.Epsilon)
	case !(r.Delta <= delta):
		return accountant.Result{}, fmt.Errorf("accountant %q answers for δ = %v; it was asked for δ = %v", name, r.Delta, delta)
	}
	note := "by a plug-in, whose theorem Molehill has not checked"
	if r.Note != "" {
		note += "; " + r.Note
	}
	r.Accountant, r.Approximate, r.Note = name, true, note
	if r.Delta == 0 && !math.IsInf(r.Epsilon, 1) {
		r.Delta = delta // pure, which is more than was asked for
	}
	return r, nil
}
