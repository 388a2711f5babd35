package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// FileOf returns where the schema of data is if nobody says otherwise: beside them.
func FileOf(data string) string { return Stem(data) + ".schema.json" }

// Stem is a path without its ending; folders have none, whatever points are in their
// names.
func Stem(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if whole, err := filepath.Abs(path); err == nil && filepath.Base(path) == "." {
			return whole
		}
		return filepath.Clean(path)
	}
	return strings.TrimSuffix(path, filepath.Ext(path))
}

var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// NameOf makes a data set's name, as CheckName expects it, of the path of data.
func NameOf(data string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(filepath.Base(Stem(data))), "-")
	if name = strings.Trim(name, "-._"); name == "" {
		return "table"
	}
	return name[:min(len(name), 63)]
}
