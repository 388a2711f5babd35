package kernel

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
)

//go:embed export.py
var exportScript string

// noMathJax is how export.py ends if a notebook has formulas and there is
// nothing to draw them with.
const noMathJax = 3

// ExportHTML writes each notebook, as it is, as one HTML file into dir and
// returns the files' paths. All is inside the file: pictures, styles, and what
// draws formulas. A page opens in any browser and asks no network.
func ExportHTML(ctx context.Context, e *Environment, dir string, notebooks ...string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, path := range notebooks {
		if _, err := ReadNotebook(path); err != nil {
			return nil, fmt.Errorf("exporting: %w", err)
		}
	}
	cmd := e.python(ctx, append([]string{"-c", exportScript, e.mathJax(), dir}, notebooks...)...)
	log := &tail{}
	var written bytes.Buffer
	cmd.Stdout, cmd.Stderr = &written, log
	err := cmd.Run()
	pages := strings.Split(strings.TrimSpace(written.String()), "\n")
	if written.Len() == 0 {
		pages = nil
	}
	if err == nil || len(pages) == len(notebooks) {
		return pages, err
	}
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == noMathJax {
		err = errors.New("its formulas need MathJax, which is not installed; run `make lab CHECK=1` once with network")
	}
	return pages, fmt.Errorf("exporting %s: %w\n%s", notebooks[len(pages)], err, log)
}
