package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const someAdult = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"

// A record by hand: each feature that is not zero, with its value.
func TestAdultFeaturesByHand(t *testing.T) {
	names := AdultFeatures()
	for line, want := range map[string]map[string]float64{
		someAdult: {
			"age": (39. - 17) / 73, "workclass=State-gov": 1, "education=Bachelors": 1, "education-num": 12. / 15,
			"marital-status=Never-married": 1, "occupation=Adm-clerical": 1, "relationship=Not-in-family": 1, "race=White": 1,
			"capital-gain": math.Log(2175) / math.Log(100_000), "hours-per-week": 39. / 98, "native-country=United-States": 1,
		},
		// What is unknown has a place of its own, and numbers beyond their limits are moved to them.
		"-5,?,0,Preschool,1e9,Divorced,?,Wife,Black,Female,+Inf,-3,1.5,?,>50K.": {
			"workclass=?": 1, "education=Preschool": 1, "education-num": 1, "marital-status=Divorced": 1, "occupation=?": 1,
			"relationship=Wife": 1, "race=Black": 1, "capital-gain": 1, "hours-per-week": 0.5 / 98, "native-country=?": 1,
		},
	} {
		s, err := parseAdult([]byte("|a remark\n\n"+line+"\r\n"), "adult.data")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.X) != len(names) {
			t.Fatalf("%d features, %d names", len(s.X), len(names))
		}
		for i, name := range names {
			if got := float64(s.X[i]); !(math.Abs(got-want[name]) <= 1e-7) {
				t.Errorf("%s: %s is %v, want %v", line, name, got, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("no features %v", want)
		}
		man, rich := 0, 0
		if strings.Contains(line, "Male") {
			man = 1
		}
		if strings.Contains(line, ">") {
			rich = 1
		}
		if !slices.Equal(s.Sex, []int{man}) || !slices.Equal(s.Income, []int{rich}) {
			t.Errorf("%s: sex %v, income %v", line, s.Sex, s.Income)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "sex") || strings.HasPrefix(name, "income") }) {
		t.Error("the features tell what is to be predicted, or the sensitive attribute")
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Error("two features have one name")
	}
}

func TestAdultErrorsNameTheLine(t *testing.T) {
	for want, change := range map[string][2]string{
		`expected a number as age, found "old"`:                          {"39", "old"},
		`expected a number as hours-per-week, found "NaN"`:               {" 40", " NaN"},
		`expected a number as capital-gain, found ""`:                    {" 2174", ""},
		`expected a workclass that adult.names lists, or ?, found "King`: {"State-gov", "King" + strings.Repeat("!", 1000)},
		`expected a race that adult.names lists, or ?, found "white"`:    {"White", "white"},
		`expected Female or Male as sex, found "?"`:                      {"Male", "?"},
		`expected <=50K or >50K as income, found ""`:                     {" <=50K", ""},
		"expected 15 values with commas between them, found 14":          {"White, ", ""},
		"expected 15 values with commas between them, found more":        {"White", "White" + strings.Repeat(",", 1_000_000)},
	} {
		_, err := parseAdult([]byte(someAdult+"\n"+strings.Replace(someAdult, change[0], change[1], 1)), "some.data")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "some.data, line 2") || len(err.Error()) > 300 {
			t.Errorf("error %v, want it to say %q of line 2", err, want)
		}
	}
	for _, content := range []string{"", "\n\n", "|only a remark"} {
		if _, err := parseAdult([]byte(content), "some.data"); err == nil || !strings.Contains(err.Error(), "found none") {
			t.Errorf("%q: error %v, want it to say that there are no records", content, err)
		}
	}
}

// Whatever a file has in it, there is an error or whole records in [0, 1].
func FuzzParseAdult(f *testing.F) {
	f.Add([]byte(someAdult))
	f.Add([]byte("|1x3 Cross validator\n" + someAdult + ".\n\n"))
	f.Add([]byte(strings.Replace(someAdult, "39", "-1e400", 1)))
	f.Add([]byte(strings.Replace(someAdult, "State-gov", "?", 1) + "\n" + someAdult[:40]))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := parseAdult(content, "fuzz")
		if err != nil {
			if s.X != nil || s.Sex != nil {
				t.Error("records beside an error")
			}
			return
		}
		n := len(s.Sex)
		if n == 0 || len(s.Income) != n || len(s.X) != n*len(AdultFeatures()) {
			t.Fatalf("%d features, %d incomes, %d sexes", len(s.X), len(s.Income), n)
		}
		for _, v := range s.X {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("feature %v", v)
			}
		}
	})
}

func TestAdultRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	var missing *NotFoundError
	if _, _, err := LoadAdult(context.Background(), Options{Dir: dir}); !errors.As(err, &missing) {
		t.Errorf("error %v of an empty folder, want *NotFoundError", err)
	}
	for _, f := range adultFiles {
		write(t, f.In(dir), []byte(someAdult))
	}
	if _, err := Load(context.Background(), "adult", Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "expected 3974305 bytes") {
		t.Errorf("error %v of other files, want it to say so", err)
	}
}

// The counts are those of the database's own description (adult.names: 48,842
// records, 23.93 % above 50,000) and of a count of its lines.
func TestAdultAsPublished(t *testing.T) {
	train, test, err := LoadAdult(context.Background(), Options{})
	var missing *NotFoundError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ones := func(values []int) (n int) {
		for _, v := range values {
			n += v
		}
		return n
	}
	count := func(s AdultSample) string {
		return fmt.Sprint(len(s.Sex), len(s.X)/len(AdultFeatures()), ones(s.Income), ones(s.Sex))
	}
	if got := count(train); got != "32561 32561 7841 21790" {
		t.Errorf("for training: records, rows, incomes above and men are %s", got)
	}
	if got := count(test); got != "16281 16281 3846 10860" {
		t.Errorf("for testing: records, rows, incomes above and men are %s", got)
	}
	if share := float64(ones(train.Income)+ones(test.Income)) / 48_842; !(math.Abs(share-0.2393) <= 5e-5) {
		t.Errorf("%v have an income above, want 0.2393", share)
	}
	few, _, err := LoadAdult(context.Background(), Options{N: 100, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	splits, err := Load(context.Background(), "adult", Options{N: 100, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(few.X, splits.Train.X) || !slices.Equal(few.Income, splits.Train.Labels) || len(few.Sex) != 100 {
		t.Error("the source draws other rows than LoadAdult")
	}
	if _, _, err := LoadAdult(context.Background(), Options{N: 40_000}); err == nil || !strings.Contains(err.Error(), "change N") {
		t.Errorf("error %v of too many rows", err)
	}
}

// Biased records cost no privacy, those of Adult do; both can be had by name, and the
// rows of neither change.
func TestAdultIsPrivateAndBiasedIsNot(t *testing.T) {
	for name, public := range map[string]bool{"adult": false, "biased": true} {
		source, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, pinned := source.(Pinned); source.Public() != public || !pinned {
			t.Errorf("%s: public %v, pinned %v", name, source.Public(), pinned)
		}
		if _, fetched := source.(Fetcher); fetched == public {
			t.Errorf("%s: files to fetch: %v", name, fetched)
		}
	}
	if _, err := Load(context.Background(), "biased", Options{N: -1}); err == nil || !strings.Contains(err.Error(), "change N") {
		t.Errorf("error %v of a negative number of records", err)
	}
}
