package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/privacy/sampling"
)

// sampled is a plan on samples, and its statement as a run keeps it.
func sampled(t *testing.T, sampler sampling.Sampler, relation privacy.Relation) (plan privacy.Plan, kept privacy.Statement) {
	t.Helper()
	plan, err := privacy.Calibrate(privacy.Plan{Sensitivity: privacy.Sensitivity{Value: 1, Relation: relation, Query: "a number"}, Sampler: sampler,
		Records: 10, Steps: 3, Coordinates: 1, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Statement(noise.Seeded(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	return plan, kept
}

// An audit reads the values of a statement, of every sampler, and none of its words.
func TestStatementsAreReadByTheirValues(t *testing.T) {
	strata, err := sampling.NewStratified([]int{0, 1, 1, 0, 1, 1, 0, 1, 1, 1}, []int{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sampler  sampling.Sampler
		relation privacy.Relation
		says     string
		of       []privacy.Plan // as it is of each category, by sampler and records
		rates    []float64
	}{
		{nil, privacy.ReplaceOne, "All of 10 records", nil, nil},
		{sampling.All{}, privacy.ReplaceOne, "All of 10 records", nil, nil},
		{sampling.Poisson{Rate: 1. / 3}, privacy.AddRemove, "Poisson(0.3333333333333333) of 10 records",
			[]privacy.Plan{{Sampler: sampling.Poisson{Rate: 1. / 3}, Records: 10}}, []float64{1. / 3}},
		{sampling.FixedSize{Size: 4}, privacy.ReplaceOne, "FixedSize(4) of 10 records",
			[]privacy.Plan{{Sampler: sampling.FixedSize{Size: 4}, Records: 10}}, []float64{0.4}},
		{strata, privacy.KEnd, "Stratified(1 of 3, 5 of 7) of 10 records",
			[]privacy.Plan{{Sampler: sampling.FixedSize{Size: 1}, Records: 3}, {Sampler: sampling.FixedSize{Size: 5}, Records: 7}}, []float64{1. / 3, 5. / 7}},
	} {
		plan, s := sampled(t, c.sampler, c.relation)
		if s.Sampler != c.says {
			t.Errorf("the statement says %q of samples, want %q", s.Sampler, c.says)
		}
		s.Sampler = "a few of many"
		if drawn, err := Sampling(s); err != nil || drawn.Records != 10 {
			t.Errorf("%s: %+v, %v", c.says, drawn, err)
		}
		if err := Same(plan, s); err != nil {
			t.Errorf("%s: %v", c.says, err)
		}
		for category := range c.of {
			of, rate, err := Stated(s, plan.Sensitivity, 2, category)
			if err != nil || of.Sampler != c.of[category].Sampler || of.Records != c.of[category].Records || rate != c.rates[category] || of.Steps != 2 || of.NoiseStd != plan.NoiseStd {
				t.Errorf("%s: category %d is %+v at rate %v, %v", c.says, category, of, rate, err)
			}
		}
		if _, poisson := c.sampler.(sampling.Poisson); poisson {
			continue // has no categories
		}
		for _, category := range []int{-1, len(c.of)} {
			if of, _, err := Stated(s, plan.Sensitivity, 2, category); err == nil || !strings.Contains(err.Error(), "is not what its settings draw; audit it with the version that made it") {
				t.Errorf("%s: category %d is %+v, %v", c.says, category, of, err)
			}
		}
	}
}

// A statement of an earlier version, in words alone, is refused kindly, and so is one of
// other samples than its settings'.
func TestStatementsOfOtherSamplesAreRefused(t *testing.T) {
	plan, s := sampled(t, sampling.FixedSize{Size: 4}, privacy.ReplaceOne)
	for _, c := range []struct {
		name         string
		sampling     sampling.Scheme
		stated, same string // what the errors say
	}{
		{"none", sampling.Scheme{}, "in words alone", "in words alone"},
		{"of nobody", sampling.Scheme{Kind: sampling.KindFixedSize, Strata: []sampling.Stratum{{}}}, "in words alone", "in words alone"},
		{"no strata", sampling.Scheme{Kind: sampling.KindFixedSize, Records: 10}, "not what its settings draw", "another plan"},
		{"more than there are", sampling.Describe(sampling.FixedSize{Size: 11}, 10), "not what its settings draw", "another plan"},
		{"none of all", sampling.Describe(sampling.FixedSize{}, 10), "not what its settings draw", "another plan"},
		{"other sizes", sampling.Describe(sampling.FixedSize{Size: 5}, 10), "", "another plan"},
		{"other records", sampling.Describe(sampling.FixedSize{Size: 4}, 11), "", "another plan"},
		{"other kind", sampling.Describe(sampling.Poisson{Rate: 0.4}, 10), "", "another plan"},
	} {
		s.Sampling = c.sampling
		_, _, stated := Stated(s, plan.Sensitivity, 3, 0)
		for _, e := range []struct {
			want string
			err  error
		}{{c.stated, stated}, {c.same, Same(plan, s)}} {
			if said := fmt.Sprint(e.err); (e.err != nil) != (e.want != "") || e.err != nil && !(strings.Contains(said, e.want) && strings.HasSuffix(said, "; audit it with the version that made it")) {
				t.Errorf("%s: %s, want it to say %q", c.name, said, e.want)
			}
		}
	}
}
