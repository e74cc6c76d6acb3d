package measure

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// lines yields a text's lines without their ends.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			line, rest, _ := bytes.Cut(text, []byte{'\n'})
			if !yield(line) {
				return
			}
			text = rest
		}
	}
}

// number parses a counter.
func number(b []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no counter", clip(b))
	}
	return n, nil
}

func clip(b []byte) []byte { return b[:min(len(b), 32)] }

// errReset is a counter that was taken away and made anew inside of a window.
var errReset = errors.New("a counter began anew in the window")

// subtract is after less before, for counters of 64 bits: these do not wrap in a
// lifetime, so one that went back was reset.
func subtract(before, after uint64) (uint64, error) {
	if after < before {
		return 0, errReset
	}
	return after - before, nil
}

// difference subtracts one counter of a reading after the other and keeps the
// first error.
type difference struct{ err error }

func (d *difference) of(before, after uint64) uint64 {
	n, err := subtract(before, after)
	if err != nil && d.err == nil {
		d.err = err
	}
	return n
}
