package sampling

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// What a sampler draws comes back from JSON as it was, to the last digit of a rate; of
// categories the sizes come, and not who is of which.
func TestSchemesSurviveJSON(t *testing.T) {
	strata, _ := stratified(t)
	for _, c := range []struct {
		sampler Sampler
		n       int
		want    string
		taken   []int
	}{
		{All{}, 7, `{"kind":"all","records":7}`, []int{}},
		{Poisson{1. / 3}, 7, `{"kind":"poisson","records":7,"rate":0.3333333333333333}`, []int{}},
		{Poisson{0}, 7, `{"kind":"poisson","records":7}`, []int{}},
		{Poisson{1e-9}, 7, `{"kind":"poisson","records":7,"rate":1e-9}`, []int{}},
		{FixedSize{3}, 7, `{"kind":"fixed_size","records":7,"strata":[{"taken":3,"of":7}]}`, []int{3}},
		{FixedSize{0}, 7, `{"kind":"fixed_size","records":7,"strata":[{"taken":0,"of":7}]}`, []int{0}},
		{strata, 20, `{"kind":"stratified","records":20,"strata":[{"taken":2,"of":5},{"taken":7,"of":11},{"taken":0,"of":3},{"taken":1,"of":1}]}`, []int{2, 7, 0, 1}},
		{&All{}, 7, `{"kind":"","records":0}`, []int{}}, // none of this package's
	} {
		scheme := Describe(c.sampler, c.n)
		text, err := json.Marshal(scheme)
		var back Scheme
		if err != nil || string(text) != c.want || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, scheme) {
			t.Errorf("%v of %d became %s and then %+v (%v); want %s", c.sampler, c.n, text, back, err, c.want)
		}
		if !slices.Equal(back.Taken(), c.taken) {
			t.Errorf("%v takes %v, want %v", c.sampler, back.Taken(), c.taken)
		}
	}
}
