package report

import (
	"slices"

	"windtunnel/analysis"
)

// document is what a report says, before it has a look.
type document struct {
	title    string
	intro    []string // paragraphs
	sections []section
}

// section has what it needs of a table, notes under it, items, charts, and texts that keep their lines.
type section struct {
	heading string
	long    bool // for those who look things up on a page: a terminal goes without
	table   *table
	notes   []string
	items   []item
	charts  []illustrated
	texts   []verbatim
}

// empty reports whether there is nothing to show.
func (s section) empty() bool {
	return s.table == nil && len(s.notes) == 0 && len(s.items) == 0 && len(s.charts) == 0 && len(s.texts) == 0
}

// verbatim is a text whose lines and spaces mean something: a drawing, a file.
type verbatim struct{ name, text string }

// item is a statement and what stands under it.
type item struct {
	name  string // "D/B": set apart
	code  bool   // says is a command
	says  string
	mood  mood
	lines []line
}

// line is one line under an item.
type line struct {
	says  string
	mood  mood
	under bool // the line before it, which it speaks for
}

// mood is what a format may colour.
type mood int

const (
	plain mood = iota
	good
	bad
	unsure
)

// table has one row a cell. Columns of one group stand under a common heading.
type table struct {
	columns []column
	rows    [][]string
}

// first is the table with so many rows at most, and how many are left out.
func (t table) first(rows int) (table, int) {
	if len(t.rows) <= rows {
		return t, 0
	}
	left := len(t.rows) - rows
	t.rows = t.rows[:rows]
	return t, left
}

type column struct {
	group string
	name  string
	text  bool // left-aligned, and shortened where the line is too long
}

// documentOf puts the answer first, then the figures, then why, then what to
// doubt, then what one looks up.
func documentOf(f analysis.Findings) document {
	d := document{title: title(f), intro: intro(f)}
	for _, s := range slices.Concat([]section{
		answers(f), searches(f), throughput(f), packets(f), lineRates(f), latenciesAt(f), latencies(f), costs(f), queues(f), outages(f), ceilings(f), limits(f), machines(f), generators(f),
	}, matrices(f), layerCosts(f), []section{
		layerChanges(f), pairs(f), losses(f), switchCounts(f), causes(f), recovered(f), hypotheses(f), doubts(f), again(f),
		topologies(f), hops(f), configurations(f), engines(f), fingerprints(f),
	}) {
		if !s.empty() {
			d.sections = append(d.sections, s)
		}
	}
	d.sections = illustrate(f, d.sections)
	return d
}
