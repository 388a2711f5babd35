package celeba

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// longestLine bounds a line of a table, in bytes: eight times the header's.
const longestLine = 1 << 13

// partition reads which images are for training and which for testing.
func (s *Set) partition() error {
	file, err := s.table(partitionFile)
	if err != nil {
		return err
	}
	defer file.Close()
	s.Train, s.Test, err = readPartition(file, file.Name())
	return err
}

// readPartition reads lines of an image's name and its part: 0 for training, 1
// for validation, 2 for testing.
func readPartition(r io.Reader, path string) (train, test []string, err error) {
	seen := map[string]bool{}
	lines := newLines(r, path)
	for lines.next() {
		words := lines.words
		fault := &Error{File: path, Expected: "an image's name and its part, 0, 1 or 2", Found: lines.found(), Do: replace}
		if len(words) != 2 || !imageName.MatchString(words[0]) {
			return nil, nil, fault
		}
		if seen[words[0]] {
			fault.Expected = "each image once"
			return nil, nil, fault
		}
		seen[words[0]] = true
		switch words[1] {
		case "0":
			train = append(train, words[0])
		case "1": // left out, as in C.1
		case "2":
			test = append(test, words[0])
		default:
			return nil, nil, fault
		}
	}
	if err := lines.err(); err != nil {
		return nil, nil, err
	}
	if len(train) == 0 || len(test) == 0 {
		return nil, nil, &Error{File: path, Expected: "images for training and for testing",
			Found: fmt.Sprintf("%d and %d", len(train), len(test)), Do: replace}
	}
	return train, test, nil
}

// Attribute returns, for each name, whether the image has the attribute, such
// as "Smiling". Rows of other images are not needed.
func (s *Set) Attribute(attribute string, names []string) ([]bool, error) {
	file, err := s.table(attributesFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values, err := readAttribute(file, file.Name(), attribute)
	if err != nil {
		return nil, err
	}
	has := make([]bool, len(names))
	for i, name := range names {
		value, ok := values[name]
		if !ok {
			return nil, &Error{File: file.Name(), Expected: "a row for " + name, Found: fmt.Sprintf("%d rows without it", len(values)), Do: replace}
		}
		has[i] = value
	}
	return has, nil
}

// readAttribute reads one column of the table of attributes: a line with the
// number of images, which a shortened table need not have, a line with the
// attributes' names, and for each image its name and 1 or -1 for each attribute.
func readAttribute(r io.Reader, path, attribute string) (map[string]bool, error) {
	lines := newLines(r, path)
	if !lines.next() || len(lines.words) != 1 || !lines.next() {
		if err := lines.err(); err != nil {
			return nil, err
		}
		return nil, &Error{File: path, Expected: "a line with the number of images and one with attributes' names", Found: lines.found(), Do: replace}
	}
	attributes := slices.Clone(lines.words)
	column := slices.Index(attributes, attribute)
	if column < 0 {
		return nil, &Error{File: path, Expected: "an attribute " + attribute, Found: strings.Join(attributes, ", "), Do: "choose one of these"}
	}
	values := map[string]bool{}
	for lines.next() {
		words := lines.words
		if len(words) != 1+len(attributes) || words[1+column] != "1" && words[1+column] != "-1" {
			return nil, &Error{File: path, Expected: fmt.Sprintf("an image's name and 1 or -1 for each of %d attributes", len(attributes)),
				Found: lines.found(), Do: replace}
		}
		values[words[0]] = words[1+column] == "1"
	}
	return values, lines.err()
}

// lines reads a table line by line.
type lines struct {
	scanner *bufio.Scanner
	path    string
	number  int
	words   []string // of the line
}

func newLines(r io.Reader, path string) *lines {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, longestLine)
	return &lines{scanner: scanner, path: path}
}

// next goes to the next line that is not empty.
func (l *lines) next() bool {
	for l.scanner.Scan() {
		l.number++
		if l.words = strings.Fields(l.scanner.Text()); len(l.words) > 0 {
			return true
		}
	}
	l.words = nil
	return false
}

// err is the error of reading.
func (l *lines) err() error {
	if err := l.scanner.Err(); err != nil {
		return &Error{File: l.path, Expected: fmt.Sprintf("lines of at most %d bytes", longestLine),
			Found: fmt.Sprintf("an error after line %d (%v)", l.number, err), Do: replace, Err: err}
	}
	return nil
}

// found describes the line for an error.
func (l *lines) found() string {
	if l.words == nil {
		return fmt.Sprintf("the end after line %d", l.number)
	}
	return fmt.Sprintf("line %d, %.60q", l.number, strings.Join(l.words, " "))
}
