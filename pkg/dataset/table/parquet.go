package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"molehill/pkg/dataset/schema"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetSource reads a flat Parquet file: columns of numbers, texts, truth values,
// days and times, each with or without missing values.
type parquetSource struct {
	file    *os.File
	header  []string
	texts   []func(parquet.Value) string
	written []bool // by whoever wrote the file, of each column
	unread  []error
	groups  []parquet.RowGroup
	rows    parquet.Rows // of the current group; nil before the first
	buffer  []parquet.Row
	waiting []parquet.Row
	row     []string
}

func openParquet(path string) (s Source, err error) {
	file, err := schema.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	defer damaged(&err)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, errors.New("it is empty; expected a Parquet file")
	}
	opened, err := parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("expected a whole Parquet file: %w", err)
	}
	if err := decoded(file, opened.Metadata()); err != nil {
		return nil, err
	}
	p := &parquetSource{file: file, groups: opened.RowGroups(), buffer: make([]parquet.Row, 256)}
	for _, field := range opened.Schema().Fields() {
		if !field.Leaf() || field.Repeated() {
			return nil, fmt.Errorf("column %q has values within values; expected a flat table", field.Name())
		}
		text := textOf(field.Type())
		var unread error
		if text == nil {
			unread = fmt.Errorf("column %q is of type %v; save it as a number (DOUBLE), a day (DATE) or a text, or exclude it", field.Name(), field.Type())
			text = func(parquet.Value) string { return "" }
		}
		p.unread = append(p.unread, unread)
		p.header, p.texts = append(p.header, field.Name()), append(p.texts, text)
		p.written = append(p.written, field.Type().Kind() == parquet.ByteArray)
	}
	p.row = make([]string, len(p.header))
	return p, nil
}

// decoded says which column is written in a way that is not read back as it was. What one
// person's row says would count for others' too, and the library (parquet-go v0.32.0) tells
// of no error:
//
//   - of pages compressed by LZ4 it leaves what an earlier page had, of other columns and
//     records (issue 608);
//   - of truth values in runs, RLE, as files of Parquet's second version have them, it rounds
//     a run up to whole bytes, which moves all that follow it, and fills it with one true
//     value in eight.
func decoded(file io.ReaderAt, of *format.FileMetaData) error {
	for _, group := range of.RowGroups {
		for _, column := range group.Columns {
			name := strings.Join(column.MetaData.PathInSchema, ".")
			switch codec := column.MetaData.Codec; codec {
			case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
			default:
				return fmt.Errorf("column %q is compressed by %v, which is not read here; save the file with snappy, gzip, brotli, zstd or no compression", name, codec)
			}
			if column.MetaData.Type != format.Boolean {
				continue
			}
			switch encoding, err := encodings(file, &column.MetaData); {
			case err != nil:
				return fmt.Errorf("column %q: the Parquet file is damaged: %w", name, err)
			case slices.ContainsFunc(encoding, func(e format.Encoding) bool { return e != format.Plain }):
				return fmt.Errorf("column %q has truth values in runs (RLE), which are not read here; save the file with plain ones, as Parquet's version 1 pages have them, or the column as texts", name)
			}
		}
	}
	return nil
}

// encodings returns the encoding of the values of each page of a column, as the pages say
// themselves: what the file says of a column names the encoding of its levels, too, and not
// every writer says it page by page.
func encodings(file io.ReaderAt, column *format.ColumnMetaData) (each []format.Encoding, err error) {
	start := column.DataPageOffset
	if column.DictionaryPageOffset != 0 {
		start = column.DictionaryPageOffset
	}
	pages := bufio.NewReader(io.NewSectionReader(file, start, column.TotalCompressedSize))
	headers := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(pages))
	for {
		var page format.PageHeader
		if err := headers.Decode(&page); errors.Is(err, io.EOF) {
			return each, nil
		} else if err != nil {
			return nil, err
		}
		if page.DataPageHeader.Valid {
			each = append(each, page.DataPageHeader.V.Encoding)
		}
		if page.DataPageHeaderV2.Valid {
			each = append(each, page.DataPageHeaderV2.V.Encoding)
		}
		if page.DictionaryPageHeader.Valid {
			each = append(each, page.DictionaryPageHeader.V.Encoding)
		}
		if _, err := pages.Discard(int(page.CompressedPageSize)); err != nil {
			return nil, err
		}
	}
}

// damaged turns a panic of the Parquet library on a damaged file into an error.
func damaged(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the Parquet file is damaged: %v", v)
	}
}

// dayText is the day of a time, or the nearest that has a year of four digits.
func dayText(t time.Time) string {
	switch year := t.UTC().Year(); {
	case year < 1:
		return "0001-01-01"
	case year > 9999:
		return "9999-12-31"
	}
	return t.UTC().Format(time.DateOnly)
}

// textOf returns how values of a type are written, nil for a type that is not read:
// decimals, whose point stands elsewhere, times of old, and bytes such as of a UUID.
func textOf(kind parquet.Type) func(parquet.Value) string {
	if logical := kind.LogicalType(); logical != nil {
		switch annotation := logical.Value.(type) {
		case *format.DateType:
			return func(v parquet.Value) string {
				return dayText(time.Unix(int64(v.Int32())*86400, 0))
			}
		case *format.TimestampType:
			moment := func(v int64) time.Time { return time.Unix(0, v) }
			switch annotation.Unit.Value.(type) {
			case *format.MilliSeconds:
				moment = time.UnixMilli
			case *format.MicroSeconds:
				moment = time.UnixMicro
			}
			return func(v parquet.Value) string { return dayText(moment(v.Int64())) }
		case *format.DecimalType:
			return nil
		case *format.IntType:
			if !annotation.IsSigned && kind.Kind() == parquet.Int32 {
				return func(v parquet.Value) string { return strconv.FormatUint(uint64(uint32(v.Int32())), 10) }
			}
			if !annotation.IsSigned {
				return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Int64()), 10) }
			}
		}
	}
	switch kind.Kind() {
	case parquet.Int96, parquet.FixedLenByteArray:
		return nil
	case parquet.Float:
		return func(v parquet.Value) string { return spell(float64(v.Float()), 32) }
	case parquet.Double:
		return func(v parquet.Value) string { return spell(v.Double(), 64) }
	}
	return func(v parquet.Value) string { return v.String() }
}

// Header implements Source.
func (s *parquetSource) Header() []string { return s.header }

// Read implements Source.
func (s *parquetSource) Read() (row []string, err error) {
	defer damaged(&err)
	for len(s.waiting) == 0 {
		if err := s.more(); err != nil {
			return nil, err
		}
	}
	values := s.waiting[0]
	s.waiting = s.waiting[1:]
	if len(values) != len(s.row) {
		return nil, fmt.Errorf("a row has %d values, expected %d: the Parquet file is damaged", len(values), len(s.row))
	}
	for i, v := range values {
		if v.IsNull() {
			s.row[i] = ""
		} else {
			s.row[i] = s.texts[i](v)
		}
	}
	return s.row, nil
}

// more reads some rows of this group or the next.
func (s *parquetSource) more() error {
	if s.rows == nil {
		if len(s.groups) == 0 {
			return io.EOF
		}
		s.rows, s.groups = s.groups[0].Rows(), s.groups[1:]
	}
	n, err := s.rows.ReadRows(s.buffer)
	s.waiting = s.buffer[:n]
	if errors.Is(err, io.EOF) {
		err = s.rows.Close()
		s.rows = nil
	}
	if n == 0 && err == nil && s.rows != nil {
		return io.ErrNoProgress
	}
	return err
}

// Unread implements Source.
func (s *parquetSource) Unread(column int) error { return s.unread[column] }

// Texts implements Source.
func (s *parquetSource) Texts(column int) bool { return s.written[column] }

// Close implements Source.
func (s *parquetSource) Close() error {
	var err error
	if s.rows != nil {
		err = s.rows.Close()
	}
	return errors.Join(err, s.file.Close())
}

// orderedGroup is a group whose fields keep their order; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// parquetSchema is the file's schema for a table's columns.
func parquetSchema(name string, columns []Column) *parquet.Schema {
	group := parquet.Group{}
	for _, c := range columns {
		node := parquet.String()
		switch {
		case c.Kind == Numeric && c.Decimals == 0:
			node = parquet.Int(64)
		case c.Kind == Numeric:
			node = parquet.Leaf(parquet.DoubleType)
		case c.Kind == Date:
			node = parquet.Date()
		}
		group[c.Name] = parquet.Optional(node)
	}
	ordered := orderedGroup{Group: group, fields: make([]parquet.Field, len(columns))}
	for _, field := range group.Fields() {
		for i, c := range columns {
			if c.Name == field.Name() {
				ordered.fields[i] = field
			}
		}
	}
	return parquet.NewSchema(name, ordered)
}
