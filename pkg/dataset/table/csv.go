package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"molehill/pkg/dataset/schema"
)

// maxRecord is the most that one row of CSV may have, in bytes: a quote that is
// never closed must not take the whole file for a value.
const maxRecord = 4 << 20

// csvSource reads CSV: RFC 4180 with any of four separators, a byte-order mark and
// either line ending, quotes, and line breaks within quotes.
type csvSource struct {
	file   io.Closer
	limit  *limited
	reader *csv.Reader
	header []string
	last   int  // line on which the last value that was read begins
	given  bool // whether the separator was not guessed
}

func openCSV(path, separator string) (Source, error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := newCSV(file, separator)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.file = file
	return s, nil
}

// newCSV reads the header.
func newCSV(from io.Reader, separator string) (*csvSource, error) {
	limit := &limited{from: from}
	limit.refill()
	buffered := bufio.NewReaderSize(limit, 64<<10)
	start, err := buffered.Peek(buffered.Size())
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16; save it as UTF-8")
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, errors.New("it is a spreadsheet or another archive, not CSV; save it as CSV (UTF-8)")
	case bytes.HasPrefix(start, []byte("PAR1")):
		return nil, errors.New("it is Parquet; name it .parquet")
	case bytes.HasPrefix(start, []byte("\ufeff")):
		start = start[3:]
		if _, err := buffered.Discard(3); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(start)) == 0 {
		return nil, errors.New("it is empty; expected a line with the names of the columns, and rows")
	}
	if end := bytes.IndexByte(start, '\r'); end >= 0 && end < len(start)-1 && !bytes.ContainsRune(start, '\n') {
		return nil, errors.New("its lines end in carriage returns alone; save it with the line ends of Unix or Windows")
	}
	given := separator != ""
	if !given {
		separator = mostFrequent(start)
	}
	s := &csvSource{limit: limit, reader: csv.NewReader(buffered), given: given}
	s.reader.Comma = (&Schema{Separator: separator}).comma()
	s.reader.ReuseRecord = true
	s.reader.TrimLeadingSpace = s.reader.Comma != '\t'
	row, err := s.reader.Read() // its length is that of all others
	if err != nil {
		return nil, s.explain(err)
	}
	for _, name := range row {
		s.header = append(s.header, strings.Clone(strings.TrimSpace(name)))
	}
	s.last, _ = s.reader.FieldPos(len(row) - 1)
	return s, nil
}

// mostFrequent returns the separator that the first row has most, outside quotes. Empty
// lines before it are none.
func mostFrequent(start []byte) string {
	counts, quoted := map[byte]int{}, false
	for _, b := range bytes.TrimLeft(start, "\r\n") {
		if b == '"' { // a doubled one within quotes ends and begins them
			quoted = !quoted
		}
		if b == '\n' && !quoted {
			break
		}
		if !quoted {
			counts[b]++
		}
	}
	best := byte(',')
	for _, candidate := range []byte(";\t|") {
		if counts[candidate] > counts[best] {
			best = candidate
		}
	}
	return string(best)
}

// Header implements Source.
func (s *csvSource) Header() []string { return s.header }

// Read implements Source.
func (s *csvSource) Read() ([]string, error) {
	s.limit.refill()
	row, err := s.reader.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.explain(err)
	}
	if err == nil {
		s.last, _ = s.reader.FieldPos(len(row) - 1)
	}
	return row, err
}

// Unread implements Source.
func (s *csvSource) Unread(int) error { return nil }

// Texts implements Source.
func (s *csvSource) Texts(int) bool { return true }

// Close implements Source.
func (s *csvSource) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// explain says what to do about an error of the syntax. It names the line, and
// nothing of what is in it.
func (s *csvSource) explain(err error) error {
	var at *csv.ParseError
	switch {
	case errors.Is(err, errLong):
		return fmt.Errorf("the row that begins after line %d has more than %d MiB; is a quote never closed?", s.last, maxRecord>>20)
	case !errors.As(err, &at):
		return err
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: the row is ragged: expected %d values with %q between them, as in the first line, found another number; mend or remove that line", at.StartLine, len(s.header), s.reader.Comma)
	case errors.Is(err, csv.ErrQuote):
		return fmt.Errorf("line %d: the row that begins there has a quote that is never closed, or does not close where a value ends; quote a whole value and double the quotes in it", at.StartLine)
	case errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf("line %d: a quote stands where none may be; quote a whole value and double the quotes in it", at.Line)
	}
	return fmt.Errorf("line %d: %w", at.Line, at.Err)
}

// checkSingle refuses CSV of one column: either it is none, and other separators stand in
// it, or how many rows there are would depend on what a record says.
func checkSingle(source Source) error {
	s, ok := source.(*csvSource)
	if !ok || len(s.header) != 1 {
		return nil
	}
	return fmt.Errorf("its first line has no %q, and so is one name: the first line has to be that of the columns' names, with no title above it, and one of %s has to stand between them, which \"separator\" of a schema may say; %w", s.reader.Comma, separators, errSingle)
}

// separators that are read, for people.
const separators = "',' ';' '|' and tab"

// errSingle refuses a table of one column.
var errSingle = errors.New("CSV of one column cannot tell a missing value from an empty line, which is no row; take Parquet, or give it another column")

// errLong ends a row that does not end.
var errLong = errors.New("a row is too long")

// limited gives so many bytes between two calls of refill.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) refill() { l.left = maxRecord }

func (l *limited) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, errLong
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
