package owndata

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"molehill/pkg/dataset"
)

// People writes two tables of people as CSV, those at test of others than those at data,
// where f lacks them: the two files of Adult if this machine has both, else tables of
// people who are made up.
func (f Folder) People(data, test string) error {
	if !f.lacks(data) && !f.lacks(test) {
		return nil
	}
	people, others := adult("adult.data"), adult("adult.test")
	if people == "" || others == "" {
		people, others = madeUp(20_000, 1), madeUp(5_000, 2)
	}
	if err := f.write(data, people); err != nil {
		return err
	}
	return f.write(test, others)
}

const adultHeader = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,capital-loss,hours-per-week,native-country,income"

// adult returns a file of Adult as CSV with a header, "" where there is none.
func adult(name string) string {
	for _, place := range dataset.Folders("") {
		text, err := os.ReadFile(filepath.Join(place, "adult", name))
		if err != nil {
			continue
		}
		lines := []string{adultHeader}
		for line := range strings.Lines(string(text)) {
			// Those for testing end in a point, and are headed by a line that is no record.
			if line = strings.TrimSuffix(strings.TrimSpace(line), "."); strings.Contains(line, ",") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n") + "\n"
	}
	return ""
}

// madeUp draws rows of a table that looks like one of people.
func madeUp(rows int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 9))
	var b strings.Builder
	b.WriteString("id,age,education,hours,since,income\n")
	for i := range rows {
		age, level := 17+rng.IntN(60), rng.IntN(4)
		hours, income := 20+rng.IntN(20)+5*level, "low"
		if float64(age)/60+float64(level)/3+rng.NormFloat64()/3 > 1.4 {
			income = "high"
		}
		fmt.Fprintf(&b, "%d,%d,%s,%d,%d-%02d-%02d,%s\n", 100000+i, age, []string{"none", "school", "college", "university"}[level], hours, 2023-rng.IntN(max(1, age-16)), 1+rng.IntN(12), 1+rng.IntN(28), income)
	}
	return b.String()
}
