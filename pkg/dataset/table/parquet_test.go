package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetOf writes rows into a file, compressed, in groups of 500.
func parquetOf[R any](t *testing.T, rows []R, codec compress.Codec, more ...parquet.WriterOption) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "table.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[R](file, append(more, parquet.Compression(codec), parquet.MaxRowsPerRowGroup(500))...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Values come back as they were written, whatever they are compressed by, or the file is
// refused: columns of random numbers, which hardly shrink, and of few texts, which do, in
// groups of rows that share the library's memory. Of LZ4 it gives values of other rows in
// their place, without an error.
func TestCompressionGivesBackWhatItWasGiven(t *testing.T) {
	type record struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y,optional"`
		Z string  `parquet:"z"`
	}
	rng := rand.New(rand.NewPCG(1, 2))
	records := make([]record, 3000)
	for i := range records {
		records[i] = record{rng.Float64(), 10 + rng.Float64(), string(rune('a' + rng.IntN(3)))}
	}
	refused := func(t *testing.T, path, want string) {
		t.Helper()
		if _, err := openParquet(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "save the file with snappy") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	refused(t, parquetOf(t, records, &parquet.Lz4Raw), `column "x" is compressed by LZ4_RAW`)
	type mixed struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y,lz4"`
	}
	refused(t, parquetOf(t, []mixed{{1, 2}}, &parquet.Snappy), `column "y" is compressed by LZ4_RAW`)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			source, err := openParquet(parquetOf(t, records, codec))
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range records {
				row, err := source.Read()
				if err != nil {
					t.Fatal(err)
				}
				x, _ := strconv.ParseFloat(row[0], 64)
				y, _ := strconv.ParseFloat(row[1], 64)
				if x != r.X || y != r.Y || row[2] != r.Z {
					t.Fatalf("row %d is %v, want %v", i, row, r)
				}
			}
			if _, err := source.Read(); err != io.EOF {
				t.Errorf("after the last row: %v", err)
			}
			if err := source.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// unsaid has a file say of its columns, beside which some writers do not say more, that
// plain values are among them.
func unsaid(t *testing.T, path string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := parquet.OpenFile(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	said := opened.Metadata()
	for _, group := range said.RowGroups {
		for i := range group.Columns {
			group.Columns[i].MetaData.Encoding = []format.Encoding{format.Plain, format.RLE}
			group.Columns[i].MetaData.EncodingStats = nil
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), said)
	if err != nil {
		t.Fatal(err)
	}
	const tail = 8 // the footer's length, and PAR1
	pages := whole[:len(whole)-tail-int(binary.LittleEndian.Uint32(whole[len(whole)-tail:]))]
	written := append(binary.LittleEndian.AppendUint32(append(pages, footer...), uint32(len(footer))), "PAR1"...)
	if err := os.WriteFile(path, written, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Truth values in runs are refused: of those that others write the library reads other
// people's in their place. Plain ones are read, with missing ones among them.
func TestTruthValuesInRunsAreRefused(t *testing.T) {
	yes := true
	type record struct {
		B *bool `parquet:"b"`
	}
	inRuns := parquet.Encoded(parquet.Leaf(parquet.BooleanType), &parquet.RLE)
	for name, node := range map[string]parquet.Node{"all there": inRuns, "some missing": parquet.Optional(inRuns)} {
		path := parquetOf(t, []record{{&yes}, {new(bool)}, {&yes}}, &parquet.Snappy, parquet.NewSchema("people", parquet.Group{"b": node}))
		if _, err := openParquet(path); err == nil || !strings.Contains(err.Error(), `column "b" has truth values in runs`) || !strings.Contains(err.Error(), "save the file with plain ones") {
			t.Errorf("%s: error %v, want one about runs", name, err)
		}
		unsaid(t, path)
		if _, err := openParquet(path); err == nil || !strings.Contains(err.Error(), `column "b" has truth values in runs`) {
			t.Errorf("%s, which the pages alone say: error %v, want one about runs", name, err)
		}
	}
	type plain struct {
		B *bool `parquet:"b,optional"`
	}
	source, err := openParquet(parquetOf(t, []plain{{&yes}, {nil}, {new(bool)}}, &parquet.Snappy))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for i, want := range []string{"true", "", "false"} {
		if row, err := source.Read(); err != nil || row[0] != want {
			t.Errorf("row %d is %q, %v; want %q", i, row, err, want)
		}
	}
}
