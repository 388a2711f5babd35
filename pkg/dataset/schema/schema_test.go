package schema

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type known struct {
	Name  string    `json:"name"`
	Range []float64 `json:"range,omitempty"`
	Shape struct {
		Flat bool `json:"flat"`
	} `json:"shape,omitzero"`
}

// What cannot be read twice is refused, and stops nobody.
func TestPipesAreRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	for path, want := range map[string]string{
		pipe:                "read twice; write what it gives to one first",
		filepath.Dir(pipe):  "is a folder",
		os.DevNull:          "read twice",
		pipe + " of nobody": "no such file",
	} {
		done := make(chan error, 1)
		go func() { _, err := Open(path); done <- err }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to say %q", path, err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s stops the program", path)
		}
	}
}

func TestASchemaIsReadAsItIsWritten(t *testing.T) {
	var b strings.Builder
	if err := Encode(&b, known{Name: "a<b"}); err != nil {
		t.Fatal(err)
	}
	var back known
	if err := Decode(strings.NewReader("\ufeff"+b.String()), &back); err != nil || back.Name != "a<b" || b.String() != "{\n  \"name\": \"a<b\"\n}\n" {
		t.Errorf("%q became %v, %v", b.String(), back, err)
	}
}

func TestMistakesOfAFileAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\n\"name\": 3}":                   `line 3: field "name" has a number, where a text in double quotes is expected`,
		"{\n\"name\" \"x\"}":                  "line 2 is no JSON",
		`{"nmae": "x"}`:                       `no schema has a field "nmae"`,
		`{"range": [1, "x"]}`:                 `field "range" has a text, where a number is expected`,
		`{"range": 1}`:                        `field "range" has a number, where a list in brackets is expected`,
		`{"shape": [1]}`:                      `field "shape" has a list, where an object in braces is expected`,
		`{"shape": {"flat": 1}}`:              `field "shape.flat" has a number, where true or false is expected`,
		`{"name": "x"} y`:                     "more text",
		" \n":                                 "it is empty",
		"{\"name\": \"x\",\n\"NAME\": \"y\"}": "line 2: field \"NAME\" stands twice",
		`{"name": [[{"a": {}, "a": 1}]]}`:     `"a" stands twice`,
		`{"name": [1, {"a": 1}, {"a": 2}]}`:   "has a list",
		strings.Repeat(" ", Max+1):            "more than",
		strings.Repeat("[", Max-1):            "deeper than any",
		`{"name": "` + strings.Repeat("x", 9): "ends too early",
		`{"name": "x"`:                        "ends too early",
	} {
		var into known
		if err := Decode(strings.NewReader(text), &into); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: want an error with %q, found %v", text, want, err)
		}
	}
	for name, good := range map[string]bool{"people": true, "my-photos_v1.2": true, "": false, "-x": false, "People": false, "a/b": false, strings.Repeat("a", 64): false} {
		if (CheckName(name) == nil) != good {
			t.Errorf("%q can be a name: %v", name, !good)
		}
	}
}

// What is no UTF-8 would become other characters, which nobody has.
func TestASchemaIsUTF8(t *testing.T) {
	var into struct{ Name string }
	if err := Decode(strings.NewReader("{\"name\": \"K\xf6ln\"}"), &into); err == nil || !strings.Contains(err.Error(), "save it as UTF-8") {
		t.Errorf("%v, %q", err, into.Name)
	}
	if err := Decode(strings.NewReader("{\"name\": \"Köln\"}"), &into); err != nil || into.Name != "Köln" {
		t.Errorf("%v, %q", err, into.Name)
	}
}
