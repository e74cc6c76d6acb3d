package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// fill repeats a piece until the text is as large as one may be.
func fill(piece string) string { return strings.Repeat(piece, maxText/len(piece)-1) }

// TestNoTextIsSlow feeds the texts that cost a YAML parser most, at the full
// size or at the largest number of tokens. None may take long, whatever it says.
func TestNoTextIsSlow(t *testing.T) {
	const limit = 20 * time.Second // about 1 s on a quiet machine without the race detector
	for _, text := range []string{
		strings.Repeat("a: b\n", maxTokens/3-1), fill("["), "a: " + fill("*a "), fill("a: |\n"), ladder(),
	} {
		start := time.Now()
		if _, err := Parse([]byte(text), "slow.yaml", words()); err == nil {
			t.Errorf("%.20q...: no error", text)
		}
		if took := time.Since(start); took > limit {
			t.Errorf("%.20q..., %d bytes: took %s", text, len(text), took)
		}
	}
}

// ladder is a mapping in a mapping in a mapping, as deep as the size allows.
func ladder() string {
	var b strings.Builder
	for i := 0; b.Len() < maxText/8; i++ {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// TestLargestSuiteIsNotSlow reads as many cells as there may be, each like the
// one before it, and a matrix of as many.
func TestLargestSuiteIsNotSlow(t *testing.T) {
	const limit = 5 * time.Second
	var chain strings.Builder
	chain.WriteString(head + "cells:\n  c0: {path: wire, pairs: [{from: a, to: b}]}\n")
	for i := 1; i < maxCells; i++ {
		fmt.Fprintf(&chain, "  c%d: {like: c%d, traffic: {streams: %d}}\n", i, i-1, i)
	}
	values := make([]string, maxCells)
	for i := range values {
		values[i] = fmt.Sprint(i + minMTU)
	}
	matrix := head + "matrix:\n  cell: {path: wire, pairs: [{from: a, to: b}]}\n  axes: {wire.mtu: [" + strings.Join(values, ",") + "]}\n"
	for name, text := range map[string]string{"chain": chain.String(), "matrix": matrix} {
		start := time.Now()
		spec, err := Parse([]byte(text), name, words())
		if err != nil || len(spec.Cells) != maxCells {
			t.Errorf("%s: %d cells, %v", name, len(spec.Cells), err)
		}
		if took := time.Since(start); took > limit {
			t.Errorf("%s took %s", name, took)
		}
	}
}

const head = "suite: s\nnodes: {a: {}, b: {}}\ntraffic: {kind: stream}\n"
