// Package idx reads IDX, the format of MNIST and its kin: a magic number that
// states type and rank, one big-endian size per dimension, then the values.
// Y. LeCun, C. Cortes, C. Burges, The MNIST database, "File formats".
//
// Only unsigned bytes are read, which is what these data sets hold. Files may
// be packed with gzip: the content decides, not the name.
package idx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Array is the content of an IDX file.
type Array struct {
	Shape []int  // [n] for labels, [n, height, width] for images
	Data  []byte // row-major, the product of Shape long
}

// Error says what is wrong with a file.
type Error struct {
	File     string // its path, as the caller named it
	Expected string
	Found    string
	Do       string // what to do about it
	Err      error  // the cause, or nil
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s; %s", e.File, e.Expected, e.Found, e.Do)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ranks of the two kinds of file.
const (
	labels = 1
	images = 3
)

const (
	unsignedByte = 0x08
	// largest is the most that a file may unpack to, in bytes: 45 times MNIST.
	largest = 1<<31 - 1

	replace = "replace the file by a fresh copy"
	swap    = "give the images file as images and the labels file as labels"
)

// Images reads n ≥ 1 images, [n, height, width]. name stands in errors for
// the file.
func Images(r io.Reader, name string) (*Array, error) { return read(r, name, images) }

// Labels reads n ≥ 1 labels, [n]. name stands in errors for the file.
func Labels(r io.Reader, name string) (*Array, error) { return read(r, name, labels) }

// read trusts nothing that the header claims: memory grows with the values
// that are really there.
func read(r io.Reader, name string, rank int) (*Array, error) {
	r, err := unpack(r, name)
	if err != nil {
		return nil, err
	}
	shape, size, err := readHeader(r, name, rank)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	_, err = io.Copy(&body, io.LimitReader(r, int64(size)+1))
	switch {
	case err != nil:
		return nil, broken(name, fmt.Sprintf("%d bytes of values", size), body.Len(), err)
	case body.Len() < size:
		return nil, &Error{File: name, Expected: fmt.Sprintf("%d bytes of values, as its header %v claims", size, shape),
			Found: fmt.Sprintf("%d: it is truncated", body.Len()), Do: replace, Err: io.ErrUnexpectedEOF}
	case body.Len() > size:
		return nil, &Error{File: name, Expected: fmt.Sprintf("its end after %d bytes of values, as its header %v claims", size, shape),
			Found: "more bytes", Do: replace}
	}
	return &Array{Shape: shape, Data: body.Bytes()}, nil
}

// unpack returns r, or what is packed in it.
func unpack(r io.Reader, name string) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	start, err := buffered.Peek(2)
	if len(start) < 2 {
		return nil, broken(name, "an IDX file", len(start), err)
	}
	if start[0] != 0x1f || start[1] != 0x8b {
		return buffered, nil
	}
	packed, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, broken(name, "a gzip header", 0, err)
	}
	return packed, nil
}

// readHeader returns the shape of the values and how many bytes they take.
func readHeader(r io.Reader, name string, rank int) (shape []int, size int, err error) {
	word := make([]byte, 4)
	if n, err := io.ReadFull(r, word); err != nil {
		return nil, 0, broken(name, "a magic number of 4 bytes", n, err)
	}
	magic, want := binary.BigEndian.Uint32(word), uint32(unsignedByte<<8|rank)
	if magic != want {
		return nil, 0, wrongMagic(name, magic, want)
	}
	size = 1
	for range rank {
		if n, err := io.ReadFull(r, word); err != nil {
			return nil, 0, broken(name, fmt.Sprintf("%d sizes of 4 bytes", rank), 4*len(shape)+n, err)
		}
		side := binary.BigEndian.Uint32(word)
		if uint64(size)*uint64(side) > largest {
			return nil, 0, &Error{File: name, Expected: fmt.Sprintf("at most %d bytes of values", largest),
				Found: fmt.Sprintf("a header that claims more (%v, then %d)", shape, side), Do: replace}
		}
		shape = append(shape, int(side))
		size *= int(side)
	}
	if size == 0 {
		return nil, 0, &Error{File: name, Expected: "at least one value",
			Found: fmt.Sprintf("a header that claims %v", shape), Do: "give a file that is not empty"}
	}
	return shape, size, nil
}

// broken describes an error of reading after n bytes of what was expected.
func broken(name, expected string, n int, err error) error {
	e := &Error{File: name, Expected: expected, Do: replace, Err: err}
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		e.Found = "nothing: the file is empty or ends there"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Found = fmt.Sprintf("its end after %d bytes: it is truncated", n)
	default:
		e.Found = fmt.Sprintf("an error after %d bytes (%v)", n, err)
	}
	return e
}

func wrongMagic(name string, found, want uint32) error {
	e := &Error{File: name, Expected: kindOf(want), Found: kindOf(found), Do: "give an IDX file of unsigned bytes"}
	if known := found&^0xff == unsignedByte<<8; known {
		e.Do = swap
	}
	return e
}

func kindOf(magic uint32) string {
	kind := "no IDX file of unsigned bytes"
	switch {
	case magic == unsignedByte<<8|images:
		kind = "images"
	case magic == unsignedByte<<8|labels:
		kind = "labels"
	case magic&^0xff == unsignedByte<<8:
		kind = fmt.Sprintf("values of rank %d", magic&0xff)
	}
	return fmt.Sprintf("%s (magic number %d)", kind, magic)
}
