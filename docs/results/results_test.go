package results

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/experiment"
	_ "molehill/pkg/experiment/circle"
	_ "molehill/pkg/experiment/dpsinkhorn/tables"
	_ "molehill/pkg/experiment/fair/tables"
	_ "molehill/pkg/experiment/privateflow/tables"
	_ "molehill/pkg/experiment/swae/tables"
	"molehill/pkg/experiment/sweep"
	"molehill/pkg/kernel"
)

var write = flag.Bool("write", false, "write what tables say now")

// stored are the rows of a table, and the sweep that they are of.
func stored(t *testing.T, name string) ([]sweep.Row, sweep.Sweep) {
	t.Helper()
	rows, err := Rows(name)
	if err != nil {
		t.Fatal(err)
	}
	of, err := sweep.Registry.Lookup(name[:strings.LastIndex(name, "-")])
	if err != nil {
		t.Fatal(err)
	}
	return rows, of
}

// Every table can be read, says where it was computed and nothing of the machine's
// files, and its sweep draws it, with the text that is there.
func TestTablesAreComplete(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("no tables")
	}
	for _, name := range Names() {
		rows, of := stored(t, name)
		for _, row := range rows {
			if len(row.Metrics) == 0 || !(row.Seconds > 0) || row.Computed.Go == "" || row.Computed.Backend == "" || row.Computed.Revision == "" || row.Computed.Host != "" {
				t.Errorf("%s: %s is incomplete, computed by %+v", name, row.Run, row.Computed)
			}
			if strings.Contains(string(row.Config), `"/`) || strings.Contains(row.Computed.Data+row.Computed.Paid, "/") {
				t.Errorf("%s: %s names a path: %s", name, row.Run, row.Config)
			}
		}
		for _, row := range rows {
			measured := map[string]bool{}
			for _, m := range row.Measured {
				if started := m.Computed.Started; !started.IsZero() && started.Before(row.Computed.Started) {
					t.Errorf("%s: %s was measured before it was made: %v", name, row.Run, m.Values)
				}
				for value := range m.Values {
					if of := fmt.Sprintf("%s of %d rows", value, m.Rows); measured[of] {
						t.Errorf("%s: %s has %s twice", name, row.Run, of)
					} else {
						measured[of] = true
					}
				}
			}
		}
		report, err := of.Report(rows, nil)
		if err != nil || len(report.Tables) == 0 || len(report.Figures) == 0 {
			t.Errorf("%s: %d tables, %d figures, %v", name, len(report.Tables), len(report.Figures), err)
		}
		path, page := filepath.Join(name, "report.md"), report.Page(of.Describe())
		if *write {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != page {
			t.Errorf("%s is not what its rows and this program say, %v; `go test ./docs/results -write` writes it", path, err)
		}
	}
	if _, err := Rows("none"); err == nil || !strings.Contains(err.Error(), Names()[0]) {
		t.Errorf("a table that is not there: %v", err)
	}
}

// The page of all tables has each of them.
func TestThePageListsEveryTable(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !strings.Contains(string(page), "]("+name+"/report.md)") {
			t.Errorf("README.md has no link to the report of %s", name)
		}
	}
}

// Figures that are made from rows alone are what rows and program say now. (Those of what
// runs have generated need the runs.)
func TestFiguresAreOfTheirRows(t *testing.T) {
	compared := 0
	for _, name := range Names() {
		rows, of := stored(t, name)
		report, err := of.Report(rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		for file, figure := range report.Figures {
			path := filepath.Join(name, file)
			kept, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			var now bytes.Buffer
			if err := figure.PNG(&now); err != nil {
				t.Fatal(err)
			}
			switch {
			case kept != nil && samePixels(t, kept, now.Bytes()):
			case !*write:
				t.Errorf("%s is not what its rows and this program draw; `go test ./docs/results -write` writes it: look at it", path)
			default:
				if err := os.WriteFile(path, now.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("no table has a figure")
	}
}

// samePixels compares pictures, not files: another version of Go may pack the same otherwise.
func samePixels(t *testing.T, one, other []byte) bool {
	t.Helper()
	decode := func(text []byte) *image.NRGBA {
		picture, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		flat := image.NewNRGBA(picture.Bounds())
		draw.Draw(flat, flat.Rect, picture, flat.Rect.Min, draw.Src)
		return flat
	}
	a, b := decode(one), decode(other)
	return a.Rect == b.Rect && bytes.Equal(a.Pix, b.Pix)
}

// unversioned are commits whose programs did not write down an experiment's version yet,
// and, as their history says, had today's: circle-projections, dp-merf, dpswflow,
// dpswflow-r, dpswgen, private-normal, sketch-flow, sw-generator and swflow.
var unversioned = []string{
	"9e883b63", "4a57dbee", "22d58a23", "334569ee", "818646c0", "671b8fb5",
}

// A version changes with what a run computes or promises. Runs of an older one are no
// runs of the experiment that their page names: they are to be made again, or taken out.
func TestStoredRunsAreOfTodaysVersions(t *testing.T) {
	for _, name := range Names() {
		rows, err := Rows(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			e, err := experiment.Registry.Lookup(row.Experiment)
			if err != nil {
				t.Fatal(err)
			}
			known := row.Version == "" && slices.ContainsFunc(unversioned, func(commit string) bool { return strings.HasPrefix(row.Computed.Revision, commit) })
			if now := e.Describe().Version; row.Version != now && !known {
				t.Errorf("%s: %s of seed %d (%s, %s) is of version %q of %s, which is %q now", name, row.Run, row.Seed, row.Computed.Revision[:8], row.Computed.Started.Format("2006-01-02"), row.Version, row.Experiment, now)
			}
		}
	}
}

// Every run that is stored has its part in the page of its table: one that no line asks
// for any more, as a setting has moved, is to be made again or taken out.
func TestNoRunIsForgotten(t *testing.T) {
	for _, name := range Names() {
		rows, of := stored(t, name)
		page := func(rows []sweep.Row) string {
			report, err := of.Report(rows, nil)
			if err != nil {
				t.Fatal(err)
			}
			return report.Page(of.Describe())
		}
		none, alike := page(nil), map[string][]sweep.Row{} // runs with the same settings share a line
		for _, row := range rows {
			settings := row.Experiment + string(row.Config)
			alike[settings] = append(alike[settings], row)
		}
		for _, same := range alike {
			if page(same) == none {
				t.Errorf("%s: %d runs like %s have no part in it", name, len(same), same[0].Run)
			}
		}
	}
}

// Lessons show stored pictures as they are kept, not as they once were.
func TestLessonsShowTheStoredPictures(t *testing.T) {
	kept := map[string]bool{}
	pictures, err := fs.Glob(files, "*/*samples.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pictures {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kept[string(text)] = true
	}
	lessons, err := filepath.Glob(filepath.Join("..", "..", "notebooks", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range lessons {
		nb, err := kernel.ReadNotebook(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range nb.Cells {
			for _, output := range cell.Outputs {
				var title kernel.Lines
				var shown []byte // encoded as JSON encodes bytes
				if json.Unmarshal(output.Data["text/plain"], &title) != nil || !strings.HasPrefix(string(title), "Decoded, ") || json.Unmarshal(output.Data["image/png"], &shown) != nil {
					continue
				}
				if compared++; !kept[string(shown)] {
					t.Errorf("%s: %q is no picture that is kept in docs/results; execute that cell again", filepath.Base(path), title)
				}
			}
		}
	}
	if compared < 12 {
		t.Errorf("only %d pictures of stored runs in lessons", compared)
	}
}

func TestOriginTellsWhereRunsAreFrom(t *testing.T) {
	for _, name := range Names() {
		line, err := Origin(name)
		if err != nil || !strings.Contains(line, "cores by ") || strings.HasSuffix(line, "at ") {
			t.Errorf("%s: %q, %v", name, line, err)
		}
		t.Log(name, ": ", line)
	}
	if _, err := Origin("no-table"); err == nil {
		t.Error("no table has an origin")
	}
}
