package report

import (
	"slices"
	"testing"
)

// TestEachPartOfATableNamesItsRows: by as many words as tell them apart, and no more.
func TestEachPartOfATableNamesItsRows(t *testing.T) {
	words := func(names ...string) (columns []column) {
		for _, name := range names {
			columns = append(columns, column{name: name, text: true})
		}
		for _, name := range []string{"first figure of all", "second figure of all", "third figure of all"} {
			columns = append(columns, column{name: name, group: name})
		}
		return columns
	}
	rows := func(names ...[]string) (all [][]string) {
		for _, n := range names {
			all = append(all, append(n, "1", "2", "3"))
		}
		return all
	}
	for name, c := range map[string]struct {
		of   table
		want []string
	}{
		"the first is enough":         {table{words("cell", "what"), rows([]string{"A", "raw"}, []string{"B", "bridge"})}, []string{"cell"}},
		"two are needed":              {table{words("cell", "goal"), rows([]string{"A", "no loss"}, []string{"A", "1 %"})}, []string{"cell", "goal"}},
		"one says nothing more":       {table{words("cell", "says", "node"), rows([]string{"A", "x", "a"}, []string{"A", "x", "b"})}, []string{"cell", "node"}},
		"nothing tells them apart":    {table{words("cell", "what"), rows([]string{"A", "raw"}, []string{"A", "raw"})}, []string{"cell"}},
		"what tells them is too long": {table{words("cell", "what-is-said-in-a-word-of-many-letters"), rows([]string{"A", "x"}, []string{"A", "y"})}, []string{"cell"}},
	} {
		parts := c.of.split(56)
		if len(parts) < 2 {
			t.Fatalf("%s: %d parts", name, len(parts))
		}
		seen := map[string]int{}
		for i, part := range parts {
			var first []string
			for _, column := range part.columns {
				if seen[column.name]++; len(first) < len(c.want) {
					first = append(first, column.name)
				}
			}
			if !slices.Equal(first, c.want) || len(part.columns) == len(c.want) {
				t.Errorf("%s: part %d has %+v, want it to begin with %v", name, i, part.columns, c.want)
			}
		}
		for _, column := range c.of.columns {
			if want := map[bool]int{true: len(parts), false: 1}[slices.Contains(c.want, column.name)]; seen[column.name] != want {
				t.Errorf("%s: %s is there %d times of %d", name, column.name, seen[column.name], want)
			}
		}
	}
}
