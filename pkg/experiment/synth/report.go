package synth

import (
	"fmt"
	"io"

	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/viz"
)

// Artefacts of a run.
const (
	SchemaFile   = "schema.json"
	ReportFile   = "report" // with .md and .html
	KeeperFolder = "keeper-only"
	KeeperFile   = KeeperFolder + "/report" // with .md and .html, by Diagnose
)

// Told is what the report of a release says that only this kind of data has.
type Told struct {
	Record   string         // what the promise is about, such as "row"
	Summary  string         // what was made of what
	Released report.Section // what was released, and what was made of it
	Declared report.Section // what the schema declares public
	Unseen   string         // what the report does not look at
	Through  string         // the code that records were seen through, "" for none
	Note     string         // what the run's numbers look at
}

// publish writes the report that may be told: nothing in it looks at a record but through
// the release.
func publish(r *run.Run, data, method string, statement privacy.Statement, told Told) error {
	return WriteReport(r.WriteFile, ReportFile, report.Document{
		Title:   "Privacy report: synthetic " + data,
		Summary: fmt.Sprintf("%s by Molehill's %s method, %s.", told.Summary, method, report.Short(statement)),
		Sections: []report.Section{
			report.Promise(statement, told.Record), report.NotPromised(statement), told.Released, told.Declared,
			{Heading: "What was not looked at", Text: []string{told.Unseen}},
			howMade(r, method, told.Through),
		},
	})
}

// howMade is the section that lets somebody make the same again.
func howMade(r *run.Run, method, through string) report.Section {
	t := viz.Table{Header: []string{"", ""}}
	t.Add("run", r.ID)
	t.Add("method", method)
	if through != "" {
		t.Add("code", through)
	}
	t.Add("seed of everything but the noise", r.Spec.Seed)
	if computed, err := r.Provenance(); err == nil && len(computed) > 0 {
		last := computed[len(computed)-1]
		t.Add("started", last.Started.UTC().Format("2006-01-02 15:04:05 MST"))
		t.Add("program", last.Program())
	}
	return report.Section{Heading: "How it was made", Tables: []viz.Table{t}}
}

// WriteReport writes a report as Markdown and as a web page.
func WriteReport(to func(name string, write func(io.Writer) error) error, name string, d report.Document) error {
	if err := to(name+".md", d.Markdown); err != nil {
		return err
	}
	return to(name+".html", d.HTML)
}
