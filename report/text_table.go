package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const gap = 2 // columns between two columns

// table writes the groups, the names and the rows, aligned. Text columns give way
// where the line would be too long.
func (t *text) table(b table) {
	widths := b.widths(t.Width - gap)
	if groups := b.groupLine(widths); strings.TrimSpace(groups) != "" {
		t.line(groups)
	}
	var names []string
	for _, c := range b.columns {
		names = append(names, c.name)
	}
	t.line(b.row(names, widths))
	for _, r := range b.rows {
		t.line(b.row(r, widths))
	}
}

func (b table) widths(room int) []int {
	widths := make([]int, len(b.columns))
	for i, c := range b.columns {
		widths[i] = utf8.RuneCountInString(c.name)
		for _, r := range b.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	b.fitGroups(widths)
	least := b.leastWidths(widths)
	for over := spanOf(widths) - room; over > 0; over-- {
		if !shrink(widths, least) {
			break
		}
	}
	return widths
}

// split makes tables that fit into the room out of one that does not: each has the columns that tell its rows apart, and whole groups
// of the others.
func (b table) split(room int) []table {
	if spanOf(b.widths(room)) <= room || len(b.columns) < 2 {
		return []table{b}
	}
	var parts []table
	names := b.names(room)
	columns := names
	for _, g := range b.groups() {
		var more []int
		for i := g.from; i < g.to; i++ {
			if !slices.Contains(names, i) {
				more = append(more, i)
			}
		}
		if len(more) == 0 {
			continue
		}
		wider := b.only(append(append([]int(nil), columns...), more...))
		if len(columns) > len(names) && spanOf(wider.widths(room)) > room {
			parts = append(parts, b.only(columns))
			columns = names
		}
		columns = append(slices.Clone(columns), more...)
	}
	return append(parts, b.only(columns))
}

// names are the columns without which a row is not known from the others: the first one, and of the words that follow those that
// tell apart more rows, where they leave half of the room.
func (b table) names(room int) []int {
	names := []int{0}
	told := b.distinct(names)
	for i := 1; i < len(b.columns) && b.columns[i].text && told < len(b.rows); i++ {
		more := append(slices.Clone(names), i)
		if n := b.distinct(more); n > told && spanOf(b.only(more).widths(room)) <= room/2 {
			names, told = more, n
		}
	}
	return names
}

// distinct is how many different rows those columns have.
func (b table) distinct(columns []int) int {
	seen := map[string]bool{}
	for _, row := range b.only(columns).rows {
		seen[strings.Join(row, "\x00")] = true
	}
	return len(seen)
}

// only is the table with those columns.
func (b table) only(columns []int) table {
	var part table
	for _, i := range columns {
		part.columns = append(part.columns, b.columns[i])
	}
	for _, row := range b.rows {
		var cells []string
		for _, i := range columns {
			cells = append(cells, row[i])
		}
		part.rows = append(part.rows, cells)
	}
	return part
}

// fitGroups widens the first column of a group whose heading is longer than it.
func (b table) fitGroups(widths []int) {
	for _, g := range b.groups() {
		span := spanOf(widths[g.from:g.to])
		if need := utf8.RuneCountInString(g.name); need > span {
			widths[g.from] += need - span
		}
	}
}

// leastWidths are those down to which columns give way: sentences do, to their beginnings. Figures do not, and names and verdicts,
// which are words, only where they are very long: rather are there more tables.
func (b table) leastWidths(widths []int) []int {
	const sentenceWidth, wordWidth = 6, 28
	least := slices.Clone(widths)
	for i, c := range b.columns {
		if !c.text {
			continue
		}
		least[i] = wordWidth
		if i > 0 && slices.ContainsFunc(b.rows, func(r []string) bool { return strings.Contains(r[i], " ") }) {
			least[i] = sentenceWidth
		}
	}
	return least
}

// shrink takes one character from the last column that has one to give.
func shrink(widths, least []int) bool {
	for i := len(widths) - 1; i >= 0; i-- {
		if widths[i] > least[i] {
			widths[i]--
			return true
		}
	}
	return false
}

// spanOf is the width of adjacent columns with the gaps between them.
func spanOf(widths []int) int {
	sum := -gap
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

type group struct {
	name     string
	from, to int // columns, to exclusive
}

func (b table) groups() []group {
	var all []group
	for i, c := range b.columns {
		if n := len(all); n > 0 && all[n-1].name == c.group {
			all[n-1].to = i + 1
			continue
		}
		all = append(all, group{c.group, i, i + 1})
	}
	return all
}

func (b table) groupLine(widths []int) string {
	var parts []string
	for _, g := range b.groups() {
		parts = append(parts, pad(g.name, spanOf(widths[g.from:g.to]), false))
	}
	return strings.Repeat(" ", gap) + strings.Join(parts, strings.Repeat(" ", gap))
}

func (b table) row(cells []string, widths []int) string {
	var parts []string
	for i, c := range b.columns {
		parts = append(parts, pad(shorten(cells[i], widths[i]), widths[i], c.text))
	}
	return strings.Repeat(" ", gap) + strings.Join(parts, strings.Repeat(" ", gap))
}

func pad(s string, width int, left bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + space
	}
	return space + s
}

// shorten cuts a text that does not fit, and shows that it did.
func shorten(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width || width < 1 {
		return s
	}
	return string(runes[:width-1]) + "…"
}
