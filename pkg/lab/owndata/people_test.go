package owndata

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molehill/pkg/dataset"
	"molehill/pkg/dataset/table"
)

// people writes the example of a machine with these files of data sets, and returns the
// table's text and the number of held-out rows.
func people(t *testing.T, files map[string]string) (text string, others int) {
	t.Helper()
	place := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Join(place, "adult"), 0o700); err != nil {
			t.Fatal(err)
		}
		leave(t, filepath.Join(place, "adult", name), content)
	}
	t.Chdir(place) // away from this repository's own data
	t.Setenv("XDG_CACHE_HOME", place)
	t.Setenv("HOME", place)
	t.Setenv(dataset.FolderVariable, place)
	f := Folder(filepath.Join(place, "examples"))
	data, test := f.File("people.csv"), f.File("others.csv")
	if err := f.People(data, test); err != nil || !IsExample(data) || !IsExample(test) {
		t.Fatalf("no example was written, %v", err)
	}
	content, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.ReadFile(test)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := table.DraftFile(t.Context(), "people", data); err != nil || s.CheckFile(test) != nil {
		t.Errorf("the held-out rows have other columns: %v", err)
	}
	return string(content), strings.Count(string(held), "\n") - 1
}

// record has a record of Adult as its files write it.
const record = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"

func TestPeopleAreThoseOfAdult(t *testing.T) {
	text, others := people(t, map[string]string{
		"adult.data": record + "\n" + record + "\n\n",
		"adult.test": "|1x3 Cross validator\n" + record + ".\n",
	})
	if text != adultHeader+"\n"+record+"\n"+record+"\n" || others != 1 {
		t.Errorf("found %q and %d held-out rows", text, others)
	}
}

// Half of Adult is none: the held-out rows would have other columns.
func TestPeopleAreMadeUpWithoutAdult(t *testing.T) {
	for name, files := range map[string]map[string]string{"none": nil, "half": {"adult.data": record + "\n"}} {
		t.Run(name, func(t *testing.T) {
			text, others := people(t, files)
			if rows := strings.Count(text, "\n") - 1; rows != 20_000 || others != 5_000 || !strings.HasPrefix(text, "id,age,education,hours,since,income\n100000,") {
				t.Errorf("%d rows and %d held out, beginning with %.60q", rows, others, text)
			}
			if high := strings.Count(text, ",high\n"); high < 4_000 || high > 12_000 {
				t.Errorf("%d of 20000 have a high income: nothing can be learned of it", high)
			}
		})
	}
}
