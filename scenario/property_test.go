package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"windtunnel/result"
)

// body draws a cell's own settings, as text inside braces.
func body(t *rapid.T, label string) []string {
	var parts []string
	maybe := func(choices ...string) {
		if i := rapid.IntRange(-1, len(choices)-1).Draw(t, label); i >= 0 {
			parts = append(parts, choices[i])
		}
	}
	maybe("path: wire", "path: vxlan", "path: {kind: vxlan, vni: 7}", "path: {kind: vrouter, flows: on}", "path: {kind: vrouter, encapsulation: none}")
	maybe("traffic: {kind: stream, nodelay: true}", "traffic: {kind: stream, message: 1390B}", "traffic: {kind: datagram, rate: 1Gbit/s}", "traffic: {message: 2kB}")
	maybe("wire: {mtu: 9000}", "wire: {kind: memory}", "wire: {queues: 2, mtu: 1400}")
	maybe("segmentation: off", "segmentation: as-found")
	maybe("requires: {cpus: 2}", "requires: {kernel: 6.8}", "requires: {cpus: 8, features: [bpf]}")
	maybe("window: 2s")
	maybe("pairs: [{from: a, to: {container: r, on: b}}]")
	return parts
}

const base = "path: bridge, pairs: [{from: a, to: b}]"

// unplaced is a cell without its name, its words and where it stands.
func unplaced(c Cell) Cell {
	c.Name, c.Says, c.Line, c.Column = "", "", 0, 0
	return c
}

// A cell that is like another one, and says nothing, is that cell.
func TestLikeAddsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := head + "cells:\n  B: {like: A}\n  A: {" + base + "}\n  C: {like: X}\n  X: {like: A, " + strings.Join(body(t, "x"), ", ") + "}\n"
		spec, err := Parse([]byte(text), "s.yaml", words())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, pair := range [][2]string{{"A", "B"}, {"X", "C"}} {
			one, _ := spec.Cell(pair[0])
			other, _ := spec.Cell(pair[1])
			if diff := cmp.Diff(unplaced(one), unplaced(other)); diff != "" {
				t.Fatalf("%v: %s", pair, diff)
			}
		}
	})
}

// Every cell of a matrix is what a chain of cells would be, each like the one
// before it and patched by the next axis's value; and the names and their order
// are those of counting.
func TestMatrixIsLikeWrittenOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axes := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(t, "axes")
		var matrix, chains strings.Builder
		values := make([][]string, len(axes))
		for i, n := range axes {
			fmt.Fprintf(&matrix, "    x%d:\n", i)
			for j := range n {
				values[i] = append(values[i], strings.Join(body(t, fmt.Sprintf("%d.%d", i, j)), ", "))
				fmt.Fprintf(&matrix, "      v%d: {%s}\n", j, values[i][j])
			}
		}
		var names []string
		turn := make([]int, len(axes))
		for more := true; more; more = count(turn, axes) {
			parts, before := make([]string, len(axes)), "base"
			for i, j := range turn {
				parts[i] = fmt.Sprintf("v%d", j)
				link := fmt.Sprintf("chain%d.%d", len(names), i)
				fmt.Fprintf(&chains, "  %s: {like: %s, %s}\n", link, before, values[i][j])
				before = link
			}
			names = append(names, strings.Join(parts, "-"))
		}
		text := head + "cells:\n  base: {" + base + "}\n" + chains.String() +
			"matrix:\n  cell: {" + base + "}\n  axes:\n" + matrix.String()
		spec, err := Parse([]byte(text), "s.yaml", words())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := spec.CellNames(); !slices.Equal(got[len(got)-len(names):], names) {
			t.Fatalf("got %v, want %v", got, names)
		}
		for i, name := range names {
			made, _ := spec.Cell(name)
			written, _ := spec.Cell(fmt.Sprintf("chain%d.%d", i, len(axes)-1))
			if diff := cmp.Diff(unplaced(written), unplaced(made)); diff != "" {
				t.Fatalf("%s: %s\n%s", name, diff, text)
			}
		}
	})
}

// count adds one to a number whose digits have the given ranges; false when it
// is all zeros again.
func count(digits, ranges []int) bool {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i]++; digits[i] < ranges[i] {
			return true
		}
		digits[i] = 0
	}
	return false
}

// A list axis is the named axis of its values.
func TestListAxisIsNamedAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mtus := rapid.SliceOfNDistinct(rapid.IntRange(minMTU, maxMTU), 1, 5, rapid.ID[int]).Draw(t, "mtus")
		var short, long []string
		for _, mtu := range mtus {
			short = append(short, fmt.Sprint(mtu))
			long = append(long, fmt.Sprintf("%d: {wire: {mtu: %d}}", mtu, mtu))
		}
		matrix := head + "matrix:\n  cell: {" + base + "}\n  axes: {%s}\n"
		one, err := Parse(fmt.Appendf(nil, matrix, "wire.mtu: ["+strings.Join(short, ", ")+"]"), "s.yaml", words())
		other, err2 := Parse(fmt.Appendf(nil, matrix, "mtu: {"+strings.Join(long, ", ")+"}"), "s.yaml", words())
		if err != nil || err2 != nil || !slices.Equal(one.CellNames(), other.CellNames()) {
			t.Fatalf("%v, %v", err, err2)
		}
		for i := range one.Cells {
			if diff := cmp.Diff(unplaced(one.Cells[i]), unplaced(other.Cells[i])); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// What a comparison writes, the grammar reads as the same.
func TestPredicatesComeBack(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 99999).Draw(t, "n")) / 1000 })
	rapid.Check(t, func(t *rapid.T) {
		var all []result.Comparison
		var texts []string
		for range rapid.IntRange(1, 5).Draw(t, "comparisons") {
			c := result.Comparison{Ratio: result.Ratio{Metric: result.ReceivedRate, Over: "B", Under: "A"}}
			low, high := number.Draw(t, "low"), number.Draw(t, "high")
			low, high = min(low, high), max(low, high)
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				c.Low = &low
			case 1:
				c.High = &high
			default:
				c.Low, c.High = &low, &high
			}
			all, texts = append(all, c), append(texts, c.String())
		}
		text := strings.Join(texts, " and ")
		spec, err := Parse([]byte(head+"cells:\n  A: {"+base+"}\n  B: {like: A}\nhypotheses: [{id: h, says: it, holds: \""+text+"\"}]\n"), "s.yaml", words())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(result.Predicate{Text: text, All: all}, spec.Hypotheses[0].Holds); diff != "" {
			t.Fatal(diff)
		}
	})
}
