package plugin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Explained are settings that say what they mean, by their names in JSON.
type Explained interface {
	Meanings() map[string]string
}

// Meanings are what settings mean, by their names in JSON, as the Go files say that declare
// them: the comment beside a field, or else the first sentence above it. So there is one
// place for them: a package embeds the file that has its settings. What is no Go has no
// meanings.
func Meanings(sources fs.FS) map[string]string {
	all := map[string]string{}
	files, _ := fs.Glob(sources, "*.go") // fails for another pattern only
	for _, name := range files {
		source, err := fs.ReadFile(sources, name)
		if err != nil {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || len(field.Names) != 1 {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				return true
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			text := said(field.Comment)
			if text == "" {
				// Above it stands what it is or does, in a sentence that begins with its name.
				text = said(field.Doc)
				if end := sentence.FindStringIndex(text); end != nil {
					text = text[:end[0]]
				}
				text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(text, field.Names[0].Name+" "), "is "), "are ")
			}
			text = inGo.ReplaceAllString(strings.TrimSuffix(text, "."), "")
			if name != "" && text != "" {
				all[name] = text
			}
			return true
		})
	}
	return all
}

// sentence is where one ends and another begins: not after "Eq." with its number.
var sentence = regexp.MustCompile(`\. \p{Lu}`)

// inGo refers readers of the code to something there, "; see Pin".
var inGo = regexp.MustCompile(`; see \p{Lu}\w*$`)

// said is a comment on one line.
func said(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
