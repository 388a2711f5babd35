package synth

import (
	"io"

	"molehill/pkg/report"
)

// Artefacts of a run.
const (
	SchemaFile   = "schema.json"
	ReleaseFile  = "release.npy"
	ReportFile   = "report" // with .md and .html
	KeeperFolder = "keeper-only"
	KeeperFile   = KeeperFolder + "/report" // with .md and .html, by Diagnose
)

// WriteReport writes a report as Markdown and as a web page.
func WriteReport(to func(name string, write func(io.Writer) error) error, name string, d report.Document) error {
	if err := to(name+".md", d.Markdown); err != nil {
		return err
	}
	return to(name+".html", d.HTML)
}
