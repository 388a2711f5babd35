// Package report writes reports that people read and reviewers check: of what a run
// promises, and of what came out, as Markdown and as a web page that needs nothing
// beside itself.
package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"molehill/viz"
)

// Document is a report.
type Document struct {
	Title    string
	Summary  string // a few sentences
	Warning  string // stands above everything else; "" for none
	Sections []Section
}

// Section is a part of a report.
type Section struct {
	Heading string
	Text    []string // paragraphs
	List    []string // points
	Tables  []viz.Table
	Figures []viz.Figure
	// NonPrivate marks what looked at private rows and was not paid for: it is for
	// their keeper.
	NonPrivate bool
}

const nonPrivate = "NOT PRIVATE: this looked at the private rows, and no budget was charged. It is for their keeper, not for publication."

// Markdown writes the report as Markdown, without its figures.
func (d Document) Markdown(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", viz.EscapeMarkdown(d.Title))
	if d.Warning != "" {
		fmt.Fprintf(&b, "> **%s**\n\n", viz.EscapeMarkdown(d.Warning))
	}
	if d.Summary != "" {
		fmt.Fprintf(&b, "%s\n\n", viz.EscapeMarkdown(d.Summary))
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "## %s\n\n", viz.EscapeMarkdown(s.Heading))
		if s.NonPrivate {
			fmt.Fprintf(&b, "> **%s**\n\n", nonPrivate)
		}
		for _, p := range s.Text {
			fmt.Fprintf(&b, "%s\n\n", viz.EscapeMarkdown(p))
		}
		for _, p := range s.List {
			fmt.Fprintf(&b, "- %s\n", viz.EscapeMarkdown(p))
		}
		if len(s.List) > 0 {
			b.WriteString("\n")
		}
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "%s\n", t.Markdown())
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// style is for light and dark screens and for paper.
const style = `:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:64rem;margin:2.5rem auto;padding:0 1.2rem}
h1{line-height:1.2}h2{margin-top:2.4rem;border-bottom:1px solid rgba(128,128,128,.4);padding-bottom:.2rem}
.warning{border:2px solid #d55e00;border-radius:6px;padding:.7rem 1rem;font-weight:600}
.summary{font-size:1.1rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem;align-items:start;margin:1rem 0}.scroll{overflow-x:auto;margin:1rem 0}td,th{vertical-align:top}
img{max-width:100%;height:auto;background:#fff;border-radius:6px;padding:.3rem;box-sizing:border-box}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}}`

// command is what stands between two backticks.
var command = regexp.MustCompile("`([^`]+)`")

// inline is a text within a web page, with commands set as such.
func inline(text string) string {
	return command.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")
}

// HTML writes the report as one web page: no script, nothing to load.
func (d Document) HTML(to io.Writer) error {
	var b bytes.Buffer
	title := html.EscapeString(d.Title)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>%s</style>\n<h1>%[1]s</h1>\n", title, style)
	paragraph := func(class, text string) {
		if text != "" {
			fmt.Fprintf(&b, "<p%s>%s</p>\n", class, inline(text))
		}
	}
	paragraph(" class=\"warning\"", d.Warning)
	paragraph(" class=\"summary\"", d.Summary)
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "<h2>%s</h2>\n", html.EscapeString(s.Heading))
		if s.NonPrivate {
			paragraph(" class=\"warning\"", nonPrivate)
		}
		for _, p := range s.Text {
			paragraph("", p)
		}
		if len(s.List) > 0 {
			b.WriteString("<ul>\n")
			for _, p := range s.List {
				fmt.Fprintf(&b, "<li>%s</li>\n", inline(p))
			}
			b.WriteString("</ul>\n")
		}
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "<div class=\"scroll\">%s</div>\n", t.HTML())
		}
		if len(s.Figures) > 0 {
			b.WriteString("<div class=\"figures\">\n")
		}
		for _, f := range s.Figures {
			var picture bytes.Buffer
			if err := f.PNG(&picture); err != nil {
				return fmt.Errorf("report: figure %q: %w", f.Heading(), err)
			}
			fmt.Fprintf(&b, "<img alt=\"%s\" src=\"data:image/png;base64,%s\">\n", html.EscapeString(f.Heading()), base64.StdEncoding.EncodeToString(picture.Bytes()))
		}
		if len(s.Figures) > 0 {
			b.WriteString("</div>\n")
		}
	}
	_, err := to.Write(b.Bytes())
	return err
}
