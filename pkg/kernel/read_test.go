package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestBrowser reads all notebooks in JupyterLab as people do, and runs one.
func TestBrowser(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: a browser reads every notebook, a minute")
	}
	b := chromium(t)
	l := startLab(t, map[string]any{
		"@jupyterlab/notebook-extension:tracker":  map[string]any{"windowingMode": "none", "kernelShutdown": true}, // all cells are there to be read
		"@jupyterlab/docmanager-extension:plugin": map[string]any{"autosave": false},
	})
	b.open(l.url())
	b.wait("JupyterLab", `window.jupyterapp && document.querySelector(".jp-NotebookPanel")`, time.Minute)
	t.Run("Index", func(t *testing.T) { readIndex(b.of(t), l) })
	t.Run("Slider", func(t *testing.T) { moveSlider(b.of(t)) })
	t.Run("Broken", func(t *testing.T) { readBroken(b.of(t), l) })
	t.Run("Notebooks", func(t *testing.T) {
		paths, err := filepath.Glob(filepath.Join(l.folder, "*.ipynb"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) { readNotebook(b.of(t), path) })
		}
	})
}

// of is the same tab for another test.
func (b *browser) of(t *testing.T) *browser { return &browser{t, b.ctx} }

// shown are the things of the notebook in front.
const reading = `(() => {
	const panel = jupyterapp.shell.currentWidget, root = panel.node;
	const pictures = [...root.querySelectorAll(".jp-Cell img")];
	return {
		Path: panel.context.path,
		Cells: panel.content.widgets.length,
		Pictures: pictures.length,
		Broken: pictures.filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.src.slice(0, 80)),
		Wide: pictures.filter(i => i.getBoundingClientRect().width > root.getBoundingClientRect().width).length,
		Formulas: root.querySelectorAll("mjx-container").length,
		Wrong: [...root.querySelectorAll("mjx-merror, [data-mjx-error], .MathJax_Error")].map(e => e.textContent),
		Raw: [...root.querySelectorAll(".jp-RenderedMarkdown p, .jp-RenderedMarkdown li, .jp-RenderedMarkdown td")].map(e => e.innerText).filter(s => /\$[^$]+\$|\\(frac|mathbb|sum|lVert)/.test(s)),
		Errors: [...root.querySelectorAll('[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]')].map(e => e.innerText),
	};
})()`

type read struct {
	Path                            string
	Cells, Pictures, Wide, Formulas int
	Broken, Wrong, Raw, Errors      []string
}

// front opens a notebook in front of the others and waits until it is drawn.
func (b *browser) front(name string) {
	b.t.Helper()
	evaluate[bool](b, fmt.Sprintf(`(async () => {
		const panel = await jupyterapp.commands.execute("docmanager:open", {path: %q});
		await panel.context.ready; await panel.revealed; jupyterapp.shell.activateById(panel.id);
		return true;
	})()`, "notebooks/"+name))
	b.wait(name+" in front", fmt.Sprintf(`jupyterapp.shell.currentWidget?.context?.path === %q && document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")`, "notebooks/"+name), 30*time.Second)
}

func readIndex(b *browser, l *lab) {
	b.front(Index)
	b.wait("cards", `document.querySelectorAll(".jp-RenderedMarkdown td img").length > 0`, 30*time.Second)
	b.picture("light")
	links := evaluate[[]string](b, `[...new Set([...document.querySelectorAll(".jp-RenderedMarkdown td a")].map(a => a.textContent).filter(s => /^\d\d/.test(s)))]`)
	lessons, err := filepath.Glob(filepath.Join(l.folder, "[0-9]*.ipynb"))
	if err != nil {
		b.t.Fatal(err)
	}
	if len(links) != len(lessons) {
		b.t.Errorf("cards %q, expected one for each of %d lessons", links, len(lessons))
	}
	// A card leads to its lesson.
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(".jp-RenderedMarkdown td a img"))); err != nil {
		b.t.Fatal(err)
	}
	b.wait("the first lesson", `jupyterapp.shell.currentWidget?.context?.path === "notebooks/00_start.ipynb"`, 30*time.Second)
}

func readNotebook(b *browser, path string) {
	nb, err := ReadNotebook(path)
	if err != nil {
		b.t.Fatal(err)
	}
	name := filepath.Base(path)
	b.front(name)
	pictures := 0
	for _, picture := range nb.Images() {
		if picture.MIME == "image/png" {
			pictures++
		}
	}
	formulas := false
	for _, c := range nb.Cells {
		formulas = formulas || c.Type == "markdown" && strings.Contains(string(c.Source), "$")
	}
	wanted := fmt.Sprintf(`(p => p.Cells === %d && p.Pictures >= %d && (p.Formulas > 0 || !%t) && p.Broken.length === 0 && p.Raw.length === 0)(%s)`, len(nb.Cells), pictures, formulas, reading)
	for deadline := time.Now().Add(20 * time.Second); !evaluate[bool](b, wanted) && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
	}
	p := evaluate[read](b, reading)
	if p.Cells != len(nb.Cells) || p.Pictures < pictures || len(p.Broken) > 0 || p.Wide > 0 {
		b.t.Errorf("%d cells of %d, %d pictures of %d, %d of them wider than the page, broken: %q", p.Cells, len(nb.Cells), p.Pictures, pictures, p.Wide, p.Broken)
	}
	if formulas && p.Formulas == 0 || len(p.Wrong) > 0 || len(p.Raw) > 0 {
		b.t.Errorf("%d formulas, %q drawn as errors, %q not drawn", p.Formulas, p.Wrong, p.Raw)
	}
	if len(p.Errors) > 0 {
		b.t.Errorf("errors in the saved outputs: %q", p.Errors)
	}
	if evaluate[bool](b, `jupyterapp.shell.currentWidget.context.model.dirty`) {
		b.t.Error("JupyterLab changes the notebook when it opens it, and will ask whether to save that")
	}
	b.picture("top")
	evaluate[bool](b, `jupyterapp.shell.currentWidget.close(), true`)
}

// readBroken finds what is wrong with a notebook that is wrong everywhere: else
// the others would pass for nothing.
func readBroken(b *browser, l *lab) {
	nb := NewNotebook("%%")
	nb.Metadata["language_info"] = []byte(`{"name": "go"}`)
	nb.Cells[0].Outputs = []Output{{Type: "error", ErrorName: "ERROR", Value: "exit status 1", Traceback: []string{"a traceback"}}}
	nb.Cells = append(nb.Cells, Cell{ID: "text", Type: "markdown", Source: "![nothing](nowhere.png)\n\n$\\frac{1}$\n\nIts source is `\\frac{1}{2}`."})
	path := filepath.Join(l.folder, "broken.ipynb")
	if err := nb.Write(path); err != nil {
		b.t.Fatal(err)
	}
	b.front("broken.ipynb")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		p := evaluate[read](b, reading)
		if len(p.Broken) == 1 && len(p.Wrong) > 0 && len(p.Errors) == 1 && len(p.Raw) == 2 {
			break
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("a broken picture, a wrong formula, one in its source and an error; seen: %+v", p)
		}
	}
	evaluate[bool](b, `jupyterapp.shell.currentWidget.close(), true`)
	if err := os.Remove(path); err != nil {
		b.t.Fatal(err)
	}
}

// moveSlider runs the cells of a lesson that its sliders need, and turns the
// first knob. (TestNotebooks runs all cells of all lessons.)
func moveSlider(b *browser) {
	b.front("02_what_epsilon_means.ipynb")
	b.wait("a kernel", `jupyterapp.shell.currentWidget.sessionContext.session?.kernel`, 30*time.Second)
	start := time.Now()
	evaluate[bool](b, `void (async () => {
		const content = jupyterapp.shell.currentWidget.content;
		const sources = content.widgets.map(cell => cell.model.sharedModel.source);
		const needed = ["func poisson(", "func grid(", "func profile(", "viz.Explore("];
		for (const word of needed) {
			content.activeCellIndex = sources.findIndex(source => source.includes(word));
			await jupyterapp.commands.execute("notebook:run-cell");
		}
	})(), true`)
	const slider = `document.querySelector('.jp-OutputArea input[type="range"]')`
	b.wait("sliders", slider, time.Minute)
	b.t.Logf("sliders %.1f s after the run began", time.Since(start).Seconds())
	for attempt := 1; !b.turn(slider, attempt); attempt++ {
		// The cell waits six seconds for the browser's first word and then goes
		// without sliders; on a loaded machine that can be too short.
		if attempt == 3 {
			b.t.Fatal("the sliders went away three times before they could be moved")
		}
		evaluate[bool](b, `void jupyterapp.commands.execute("notebook:run-cell"), true`)
		b.wait("sliders again", slider, time.Minute)
	}
	b.picture("after")
	evaluate[bool](b, slider+`.closest(".jp-OutputArea").querySelector("button").click(), true`)
	b.wait("the cell's end", `jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === "idle"`, 30*time.Second)
	b.wait("what is left of the sliders", `!`+slider, 10*time.Second)
	if p := evaluate[read](b, reading); len(p.Errors) > 0 || len(p.Broken) > 0 {
		b.t.Errorf("after the run: errors %q, broken pictures %q", p.Errors, p.Broken)
	}
	inTheDark(b)
	evaluate[bool](b, `jupyterapp.shell.currentWidget.context.revert().then(() => jupyterapp.shell.currentWidget.close()).then(() => true)`)
}

// turn moves a slider and waits for another picture; false if it went away.
func (b *browser) turn(slider string, attempt int) bool {
	picture := `(s => s ? [...s.closest(".jp-OutputArea").querySelectorAll("img")].map(i => i.src).join() : "gone")(` + slider + `)`
	before := evaluate[string](b, picture)
	if before == "gone" {
		return false
	}
	evaluate[bool](b, `(`+slider+` ?? document.body).scrollIntoView({block: "start"}), true`)
	b.picture(fmt.Sprintf("before-%d", attempt))
	at := evaluate[[]float64](b, `(r => [r.x + 0.8 * r.width, r.y + r.height / 2])((`+slider+` ?? document.body).getBoundingClientRect())`)
	if err := chromedp.Do(b.ctx, chromedp.MouseClickXY(at[0], at[1])); err != nil {
		b.t.Fatal(err)
	}
	for moved := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		switch evaluate[string](b, picture) {
		case "gone":
			return false
		case before:
		default:
			b.t.Logf("another picture %.2f s after the slider moved", time.Since(moved).Seconds())
			return true
		}
		if time.Since(moved) > 20*time.Second {
			b.picture("stuck")
			b.t.Fatal("the slider moved, the picture stayed for 20 s")
		}
	}
}

// inTheDark looks at the same figure, a table and the sliders in the dark theme:
// letters must stand out from what is behind them by the 4.5 : 1 that WCAG 2.1
// asks of text (success criterion 1.4.3).
func inTheDark(b *browser) {
	evaluate[bool](b, `jupyterapp.commands.execute("apputils:change-theme", {theme: "JupyterLab Dark"}).then(() => true)`)
	b.wait("the dark theme", `document.body.dataset.jpThemeLight === "false"`, 20*time.Second)
	time.Sleep(500 * time.Millisecond) // its style sheet
	type legible struct {
		Read  int
		Faint []string
	}
	seen := evaluate[legible](b, `(() => {
		const rgba = (s) => { const v = s.match(/[\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
		const light = ([r, g, b]) => { const f = (x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
		const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 0.5) return c; } return [255, 255, 255, 1]; };
		const letters = (e) => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
		const faint = [];
		let read = 0;
		for (const e of jupyterapp.shell.currentWidget.node.querySelectorAll(".jp-OutputArea-output *, .jp-RenderedMarkdown *")) {
			if (!letters(e) || !e.getClientRects().length) continue;
			const a = light(rgba(getComputedStyle(e).color)), z = light(behind(e));
			const ratio = (Math.max(a, z) + 0.05) / (Math.min(a, z) + 0.05);
			read++;
			if (ratio < 4.5) faint.push(ratio.toFixed(1) + ": " + e.textContent.slice(0, 40));
		}
		return {Read: read, Faint: faint};
	})()`)
	if len(seen.Faint) > 0 || seen.Read < 50 {
		b.t.Errorf("of %d texts in the dark theme, hard to read: %q", seen.Read, seen.Faint)
	}
	b.picture("dark")
	evaluate[bool](b, `jupyterapp.commands.execute("apputils:change-theme", {theme: "JupyterLab Light"}).then(() => true)`)
}
