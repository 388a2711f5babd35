// Package schema reads and writes the files in which people say what is public of
// their own data: of a table (package table), or of images (package pictures).
package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Max is the most bytes of a schema.
const Max = 16 << 20

// nameOfData keeps names usable in commands, files and ledgers.
var nameOfData = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// CheckName returns an error unless data can be called so.
func CheckName(name string) error {
	if !nameOfData.MatchString(name) {
		return fmt.Errorf("name %q: expected lower-case letters, digits, '.', '_' or '-', at most 63, the first a letter or digit", name)
	}
	return nil
}

// Open opens the file of a schema or of data. A pipe is an error: opening it stops the
// program until somebody writes, and it is read once only.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; expected a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file that can be read twice; write what it gives to one first", path)
	}
	return os.Open(path)
}

// Decode reads a schema into a pointer to one. Unknown fields are errors: a misspelt
// one would otherwise be left out in silence; so are fields that stand twice, of which
// people see the first and encoding/json takes the last.
func Decode(from io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(from, Max+1))
	if err != nil {
		return err
	}
	if len(text) > Max {
		return fmt.Errorf("it has more than %d bytes; is it a schema?", Max)
	}
	if !utf8.Valid(text) { // encoding/json would put other characters in
		return errors.New("it is no UTF-8; save it as UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := once(json.NewDecoder(bytes.NewReader(text)), deepest); err != nil {
		return describe(text, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return describe(text, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("expected one JSON object, found more text behind it")
	}
	return nil
}

// Sum is a hash of a schema.
func Sum(of any) ([]byte, error) {
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return sum[:], err
}

// deepest is how far lists and objects may stand in one another, far beyond what a schema
// has: what is told of them is asked of a call within a call.
const deepest = 100

// once returns an error if an object of the next value has a field twice, in whatever case.
func once(d *json.Decoder, deepest int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, _ := token.(json.Delim)
	if open == 0 {
		return nil
	}
	if deepest == 0 {
		return errors.New("lists and objects in one another, deeper than any schema has them; is it a schema?")
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			if token, err = d.Token(); err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprint(token))
			if seen[name] {
				return &repeatedError{token, d.InputOffset()}
			}
			seen[name] = true
		}
		if err := once(d, deepest-1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end of it
	return err
}

type repeatedError struct {
	name any
	at   int64
}

func (e *repeatedError) Error() string {
	return fmt.Sprintf("field %q stands twice in one object: leave one", e.name)
}

// describe says what is wrong with a text, in which line, and what to do.
func describe(text []byte, err error) error {
	line := func(at int64) int {
		return 1 + bytes.Count(text[:max(0, min(at, int64(len(text))))], []byte("\n"))
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var repeated *repeatedError
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ") // an error of no type
	switch {
	case errors.As(err, &repeated):
		return fmt.Errorf("line %d: %w", line(repeated.at), err)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d is no JSON: %w (names and texts stand in double quotes, and a comma between two entries)", line(syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: field %q has %s, where %s is expected", line(kind.Offset), kind.Field, found(kind.Value), expected(kind.Type))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if len(bytes.TrimSpace(text)) == 0 {
			return errors.New("it is empty")
		}
		return errors.New("it ends too early: a double quote, a bracket or a brace is missing, or the rest of the file")
	case isUnknown:
		return fmt.Errorf("no schema has a field %s; correct or remove it", unknown)
	}
	return err
}

// found is what encoding/json calls a value, in words.
func found(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "number":
		return "a number"
	}
	return "the " + value // a number that the type cannot have
}

// expected is what JSON has for a type, in words.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text in double quotes"
	case reflect.Slice, reflect.Array:
		return "a list in brackets"
	case reflect.Struct, reflect.Map:
		return "an object in braces"
	}
	return "a number"
}

// Encode writes a schema as people edit it.
func Encode(to io.Writer, schema any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(schema)
}
