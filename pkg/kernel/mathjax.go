package kernel

import (
	"context"
	_ "embed" // requirements
	"fmt"
	"os"
	"path/filepath"
)

//go:embed requirements-mathjax.txt
var requirementsMathJax []byte

// mathJax is the one file that draws formulas, glyphs included.
func (e *Environment) mathJax() string {
	return filepath.Join(e.Venv, "share", "molehill", "mathjax.js")
}

// installMathJax keeps the one file of MathJax's package that exported pages
// need. It is tried once for each requirement: without it everything works but
// the export of formulas, which says so.
func (s *setup) installMathJax(ctx context.Context) error {
	wanted := digest(requirementsMathJax)
	_, err := os.Stat(s.mathJax())
	if s.offline || err == nil && s.stamp.MathJax == wanted {
		return nil
	}
	folder, err := os.MkdirTemp(s.Dir, "mathjax")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	err = s.pip(ctx, "Fetching MathJax for exported pages, about 10 MB", requirementsMathJax, "--target", folder)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		s.say("MathJax could not be installed, see %s; notebooks with formulas cannot be exported until it is.", filepath.Join(s.Dir, "setup.log"))
		return nil
	}
	script, err := os.ReadFile(filepath.Join(folder, "mathjax", "static", "mathjax", "es5", "tex-svg.js"))
	if err != nil {
		return fmt.Errorf("MathJax's package holds no tex-svg.js: %w", err)
	}
	if err := writeFile(s.mathJax(), script); err != nil {
		return err
	}
	s.stamp.MathJax = wanted
	return nil
}
