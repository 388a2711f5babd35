// Package docs_test holds the documents to what they say: links lead somewhere,
// commands and files exist, examples compile, citations are in the bibliography.
package docs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/pkg/command"
	"molehill/pkg/kernel"
)

const root = ".."

// pages are the documents that people read, with the prose of the lessons, by their path
// from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/results/README.md", "models/autoencoder/weights/README.md"}
	own, err := filepath.Glob("*.md")
	if err != nil || len(own) == 0 {
		t.Fatalf("expected pages in docs, found %d (%v)", len(own), err)
	}
	for _, p := range own {
		paths = append(paths, filepath.Join("docs", p))
	}
	texts := map[string]string{}
	for _, p := range paths {
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		texts[p] = string(text)
	}
	lessons, err := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	if err != nil || len(lessons) == 0 {
		t.Fatalf("expected lessons in notebooks, found %d (%v)", len(lessons), err)
	}
	for _, path := range lessons {
		nb, err := kernel.ReadNotebook(path)
		if err != nil {
			t.Fatal(err)
		}
		var prose strings.Builder
		for _, cell := range nb.Cells {
			if cell.Type == "markdown" {
				fmt.Fprintf(&prose, "%s\n\n", cell.Source)
			}
		}
		texts["notebooks/"+filepath.Base(path)] = prose.String()
	}
	return texts
}

// fence is a block of code, with its language.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the blocks of code of a page that are in one of the languages.
func blocks(page string, languages ...string) []string {
	var found []string
	for _, match := range fence.FindAllStringSubmatch(page, -1) {
		for _, l := range languages {
			if match[1] == l {
				found = append(found, match[2])
			}
		}
	}
	return found
}

// TestExamplesCompile builds every block of Go in the documents as a package of this
// module. It is laid over the tree, so that nothing is written there.
func TestExamplesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles programs")
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	from := map[string]string{} // package, the page that it is of
	var packages []string
	dir := t.TempDir()
	for path, text := range pages(t) {
		for i, code := range blocks(text, "go") {
			name := fmt.Sprintf("%s-%d", strings.ToLower(strings.NewReplacer("/", "-", ".md", "").Replace(path)), i)
			if !strings.Contains(code, "package ") {
				t.Errorf("%s: block %d of Go has no package clause; show a whole file", path, i)
				continue
			}
			source := filepath.Join(dir, name+".go")
			if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
				t.Fatal(err)
			}
			overlay.Replace[absolute(t, filepath.Join("examples", name, "main.go"))] = source
			packages = append(packages, "./docs/examples/"+name)
			from["docs/examples/"+name] = path
		}
	}
	if len(packages) == 0 {
		t.Fatal("no block of Go in any document")
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"build", "-o", os.DevNull, "-overlay", file}, packages...)...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\nexamples are of %v", err, said, from)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// called is a call of molehill: on a line of its own, or in backticks.
var called = regexp.MustCompile("(?m)^ *(?:go run \\. |molehill )(.+)$|`molehill ([a-z][^`]+)`")

// TestCommandsExist parses every call of molehill in the documents.
func TestCommandsExist(t *testing.T) {
	parsed := 0
	for path, text := range pages(t) {
		for _, match := range called.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
			line := strings.TrimSpace(strings.SplitN(match[1]+match[2], " #", 2)[0])
			parsed++
			if err := parse(strings.Fields(line), match[1] != ""); err != nil {
				t.Errorf("%s: molehill %s: %v", path, line, err)
			}
		}
	}
	if parsed < 50 {
		t.Errorf("parsed %d commands; the documents have more: the test does not see them", parsed)
	}
}

// parse finds the command that words call, and its flags; of a whole call, on a line
// of its own, also what it is called with.
func parse(words []string, whole bool) error {
	cmd, rest, err := command.New().Find(words)
	if err != nil {
		return err
	}
	if !cmd.HasParent() {
		return fmt.Errorf("there is no such command")
	}
	if cmd.HasSubCommands() && !cmd.Runnable() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%s has no command %q", cmd.Name(), rest[0])
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.Args == nil || !whole {
		return nil
	}
	return cmd.Args(cmd, cmd.Flags().Args())
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// anchors are the places of a page that a link can name, as forges make them.
func anchors(page string) map[string]bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		found[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

// TestLinksLeadSomewhere follows the links between documents and to files.
func TestLinksLeadSomewhere(t *testing.T) {
	for path, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := filepath.Join(root, path)
			if target != "" {
				to = filepath.Join(root, filepath.Dir(path), target)
			}
			info, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s links to %s: %v", path, match[1], err)
				continue
			}
			if anchor == "" || info.IsDir() {
				continue
			}
			there, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(there))[anchor] {
				t.Errorf("%s links to %s, which has no heading of that name", path, match[1])
			}
		}
	}
}

// mentioned is a package or file of this module in backticks.
var mentioned = regexp.MustCompile("`((?:privacy|transport|models|viz|pkg|notebooks|docs|docker)/[A-Za-z0-9_./-]+)`")

// TestFilesExist looks for the packages and files that documents name.
func TestFilesExist(t *testing.T) {
	for path, text := range pages(t) {
		for _, match := range mentioned.FindAllStringSubmatch(text, -1) {
			name := strings.TrimRight(strings.TrimSuffix(match[1], "..."), "/")
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s names %s: %v", path, match[1], err)
			}
		}
	}
}

// citation is "authors year" in its usual forms.
var citation = regexp.MustCompile(`\b(` + author + `)(?:(?:, ` + author + `)*,? (?:&|and) ` + author + `| et al\.)?,? \(?((?:19|20)\d\d)\b`)

const author = `\p{Lu}[\p{L}’'-]+`

// noAuthor are words before a year that are no surname.
var noAuthor = map[string]bool{"December": true, "Copyright": true, "Repository": true, "ICCV": true, "CVPR": true, "Anonymous": true, "People": true}

// TestCitationsAreInTheBibliography holds comments, lessons and documents to the one
// bibliography, by first author and year.
func TestCitationsAreInTheBibliography(t *testing.T) {
	text, err := os.ReadFile("bibliography.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, entry := range citation.FindAllStringSubmatch(string(text), -1) {
		known[entry[1]+" "+entry[2]] = true
	}
	joined := regexp.MustCompile(`\s*\n\s*(?://|>)?\s*`)
	seen := 0
	look := func(path, text string) {
		for _, match := range citation.FindAllStringSubmatch(joined.ReplaceAllString(text, " "), -1) {
			if noAuthor[match[1]] {
				continue
			}
			seen++
			if !known[match[1]+" "+match[2]] {
				t.Errorf("%s cites %q, which docs/bibliography.md does not have", path, match[0])
			}
		}
	}
	for path, prose := range pages(t) {
		look(path, prose)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "runs" || name == "exports" || name == "results"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, string(source))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 150 {
		t.Errorf("found %d citations; there are more: the test does not see them", seen)
	}
}
