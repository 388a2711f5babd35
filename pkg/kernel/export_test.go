package kernel

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const formulas = `# Formulas

Inline $\varepsilon = \frac{1}{2}$, and displayed

$$\int_0^1 \lVert x \rVert^2\,dx \le \sum_{i=1}^n w_i .$$

A price is \$5; see [the first lesson](00_start.ipynb).`

// An exported page has all inside.
func TestExportNeedsNoNetwork(t *testing.T) {
	e := environment(t)
	nb := NewNotebook("%%\nprintln()")
	nb.Cells = append(nb.Cells, Cell{ID: "text", Type: "markdown", Source: formulas})
	plain, folder := notebook(t, hello), t.TempDir()
	path := filepath.Join(folder, "formulas.ipynb")
	if err := nb.Write(path); err != nil {
		t.Fatal(err)
	}
	pages, err := ExportHTML(t.Context(), e, folder, path, plain)
	if err != nil {
		t.Fatal(err)
	}
	loads := regexp.MustCompile(`<(?:script|link|img|iframe)[^>]*(?:src|href)="?https?:[^>]*>|@import[^;]*https?:|import\("https?:`)
	for i, path := range pages {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := loads.FindAllString(string(data), 3); len(found) > 0 {
			t.Errorf("%s asks the network: %q", path, found)
		}
		// Two megabytes of MathJax where there are formulas, and none elsewhere.
		if has, want := strings.Contains(string(data), "MathJax"), i == 0; has != want {
			t.Errorf("%s has MathJax: %t, expected %t", path, has, want)
		}
	}
	if data, err := os.ReadFile(pages[0]); err != nil || !strings.Contains(string(data), `href="00_start.html"`) {
		t.Errorf("the link to another notebook should lead to its page (%v)", err)
	}
}

func TestExportWithoutMathJax(t *testing.T) {
	e := *environment(t)
	nb := NewNotebook()
	nb.Cells = []Cell{{ID: "text", Type: "markdown", Source: formulas}}
	path := filepath.Join(t.TempDir(), "formulas.ipynb")
	if err := nb.Write(path); err != nil {
		t.Fatal(err)
	}
	// The same environment, as it is before MathJax is there.
	e.Venv = t.TempDir()
	if _, err := ExportHTML(t.Context(), &e, t.TempDir(), path); err == nil || !strings.Contains(err.Error(), "make lab") {
		t.Errorf("formulas, and nothing to draw them with: %v", err)
	}
}

// A browser without network draws pictures and formulas of an exported lesson.
func TestBrowserExport(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: a browser reads exported pages, ten seconds")
	}
	b := chromium(t)
	e := environment(t)
	folder := t.TempDir()
	lessons := filepath.Join(e.Root, "notebooks")
	pages, err := ExportHTML(t.Context(), e, folder, filepath.Join(lessons, "03_optimal_transport.ipynb"), filepath.Join(lessons, Index))
	if err != nil {
		t.Fatal(err)
	}
	b.open("file://" + pages[0])
	b.wait("formulas", `window.MathJax?.startup?.promise && document.querySelectorAll("mjx-container svg").length > 20`, 60*time.Second)
	if wrong := evaluate[[]string](b, `[...document.querySelectorAll("[data-mjx-error], mjx-merror")].map(e => e.textContent)`); len(wrong) > 0 {
		t.Errorf("formulas that are not drawn: %q", wrong)
	}
	if raw := evaluate[[]string](b, `[...document.querySelectorAll(".jp-RenderedMarkdown p, .jp-RenderedMarkdown li")].map(e => e.innerText).filter(s => /\$[^$]+\$/.test(s))`); len(raw) > 0 {
		t.Errorf("formulas in their source: %q", raw)
	}
	const broken = `[...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src.slice(0, 80))`
	if missing := evaluate[[]string](b, broken); len(missing) > 0 {
		t.Errorf("broken pictures: %q", missing)
	}
	if n := evaluate[int](b, `document.images.length`); n < 10 {
		t.Errorf("%d pictures, expected those of the lesson", n)
	}
	b.picture("lesson")
	b.open("file://" + pages[1])
	if missing := evaluate[[]string](b, broken); len(missing) > 0 {
		t.Errorf("broken cards: %q", missing)
	}
	if n := evaluate[int](b, `document.querySelectorAll('td a[href$=".html"] img').length`); n < 10 {
		t.Errorf("%d cards that lead to exported pages, expected ten or more", n)
	}
	b.picture("index")
}
