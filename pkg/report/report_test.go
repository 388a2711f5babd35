package report

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/viz"
)

func example(t *testing.T, epsilon float64, secret noise.Source) privacy.Statement {
	t.Helper()
	plan, err := privacy.Calibrate(privacy.Plan{Records: 100, Steps: 1, Budget: privacy.Budget{Epsilon: epsilon, Delta: 1e-6}, Coordinates: 3,
		Sensitivity: privacy.Sensitivity{Value: 1, Relation: privacy.ReplaceOne, Query: "counts", Source: "by hand"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Statement(secret, nil, "the number of rows")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func render(t *testing.T, d Document) (markdown, page string) {
	t.Helper()
	var a, b strings.Builder
	if err := errors.Join(d.Markdown(&a), d.HTML(&b)); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

func TestTheReportSaysWhatIsPromisedAndWhatNot(t *testing.T) {
	secret, err := noise.Secure()
	if err != nil {
		t.Fatal(err)
	}
	s := example(t, 1, secret)
	markdown, page := render(t, Document{Title: "Report", Sections: []Section{Promise(s, "row"), NotPromised(s)}})
	for _, text := range []string{markdown, page} {
		for _, want := range []string{"(1, 1e-06)", "right at most 73.2 %", "replace-one", "the number of rows", "What is not protected"} {
			if !strings.Contains(text, want) {
				t.Errorf("the report does not say %q:\n%s", want, text)
			}
		}
	}
}

// Commands that a text names are set as such in a web page, and nothing else is marked.
func TestCommandsAreSetAsSuch(t *testing.T) {
	_, page := render(t, Document{Title: "Report", Summary: "see `molehill <x>`; a ` alone", Sections: []Section{{Heading: "What", Text: []string{"`a` and `b`"}, List: []string{"of `c`"}}}})
	for _, want := range []string{"see <code>molehill &lt;x&gt;</code>; a ` alone", "<code>a</code> and <code>b</code>", "of <code>c</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestNoPromiseIsMadeWhereThereIsNone(t *testing.T) {
	for want, s := range map[string]privacy.Statement{"made without privacy": example(t, math.Inf(1), noise.Seeded(1)), "recomputed from its seed": example(t, 1, noise.Seeded(1))} {
		if text := strings.Join(Promise(s, "row").Text, " "); !strings.HasPrefix(text, "Nothing") || !strings.Contains(text, want) {
			t.Errorf("found %q", text)
		}
	}
}

// The best guess between two neighbours: known answers.
func TestAccuracyOfAGuess(t *testing.T) {
	for _, test := range []struct{ epsilon, delta, want float64 }{{0, 0, 0.5}, {math.Log(3), 0, 0.75}, {0, 1, 1}, {0, 0.5, 0.75}} {
		if got := accuracy(test.epsilon, test.delta); !(math.Abs(got-test.want) <= 1e-12) {
			t.Errorf("at (%v, %v) it is right %v of the time, want %v", test.epsilon, test.delta, got, test.want)
		}
	}
}

// Names of columns are anybody's: none becomes markup.
func TestNamesStayText(t *testing.T) {
	evil := "<script>alert(1)</script> [x](http://e) `a` | *b*\n# c"
	d := Document{Title: evil, Summary: evil, Warning: evil, Sections: []Section{{Heading: evil, Text: []string{evil}, List: []string{evil}, Tables: []viz.Table{{Header: []string{evil}, Rows: [][]any{{evil}}}}}}}
	markdown, page := render(t, d)
	for name, text := range map[string]string{"Markdown": markdown, "HTML": page} {
		if strings.Contains(text, "<script") {
			t.Errorf("the %s has a script", name)
		}
	}
	if strings.Contains(markdown, "[x](") || strings.Contains(markdown, "\n# c") {
		t.Errorf("the Markdown has a link or a heading:\n%s", markdown)
	}
}

func TestWhatIsNotPrivateSaysSo(t *testing.T) {
	markdown, page := render(t, Document{Title: "x", Sections: []Section{{Heading: "a", NonPrivate: true}, {Heading: "b"}, {Heading: "c", NonPrivate: true}}})
	if strings.Count(markdown, nonPrivate) != 2 || strings.Count(page, nonPrivate) != 2 {
		t.Errorf("%s\n%s", markdown, page)
	}
}

// broken is a figure that cannot be drawn.
type broken struct{}

func (broken) Heading() string     { return "broken" }
func (broken) PNG(io.Writer) error { return errors.New("no ink") }
func (broken) Save(string) error   { return errors.New("no ink") }

func TestFiguresStandInThePage(t *testing.T) {
	figure := viz.Curves{Title: "ages", Lines: []viz.Line{{Y: []float64{1, 2}}}}
	_, page := render(t, Document{Title: "x", Sections: []Section{{Heading: "a", Figures: []viz.Figure{figure}}}})
	if !strings.Contains(page, "alt=\"ages\" src=\"data:image/png;base64,iVBOR") || strings.Contains(page, "http") {
		t.Error("the page lacks its figure, or loads something")
	}
	if err := (Document{Sections: []Section{{Figures: []viz.Figure{broken{}}}}}).HTML(io.Discard); err == nil || !strings.Contains(err.Error(), "no ink") {
		t.Error(err)
	}
}
