package report

import (
	"fmt"

	"windtunnel/analysis"
)

// plot is one kind of picture. A new one is one file and one line in plots.
type plot struct {
	name    string // of its file; its ids on a page begin with it
	heading string
	after   string // the heading of the section after which it stands; in a report without that one, after the answers
	draw    func(analysis.Findings) []chart
}

// chart is one picture of a plot. A plot draws none where the findings have nothing for it, and several where, say, each
// cell has its own.
type chart struct {
	of      string // the cell, where a plot draws several
	says    string // how it is read: a sentence or two that stand under it, and its description for those who do not see it
	picture *drawing
	figures *table   // the same as numbers
	tree    []branch // and, of calls, as a tree
	notes   []string
}

// plots is the registry, in the order in which they stand.
var plots = []plot{
	ratiosPlot,
	ratesPlot,
	coursePlot,
	windowPlot,
	latencyPlot,
	layersPlot,
	flamePlot,
}

// mostCharts is how many pictures of one plot a report has, and mostRows how many rows a picture.
const mostCharts, mostRows = 24, 40

// illustrated is a chart with the names of its place: in a page and, where pictures are files, in a folder.
type illustrated struct {
	chart
	name    string // "ratios", "flame-2"
	heading string
}

// illustrate puts the plots' sections behind those that they belong to.
func illustrate(f analysis.Findings, sections []section) []section {
	after := map[string][]section{}
	for _, p := range plots {
		drawn := p.section(f)
		if len(drawn.charts) == 0 {
			continue
		}
		place := p.after
		if !hasHeading(sections, place) {
			place = answersHeading
		}
		after[place] = append(after[place], drawn)
	}
	var all []section
	for _, s := range sections {
		all = append(append(all, s), after[s.heading]...)
	}
	return all
}

func hasHeading(sections []section, heading string) bool {
	for _, s := range sections {
		if s.heading == heading {
			return true
		}
	}
	return false
}

func (p plot) section(f analysis.Findings) section {
	s := section{heading: p.heading}
	charts := p.draw(f)
	for i, c := range charts {
		if i == mostCharts {
			s.notes = append(s.notes, fmt.Sprintf("%d more are not drawn.", len(charts)-i))
			break
		}
		drawn := illustrated{chart: c, name: p.name, heading: p.heading}
		if len(charts) > 1 {
			drawn.name = fmt.Sprintf("%s-%d", p.name, i+1)
			drawn.heading += ": " + c.of
		} else {
			drawn.of = "" // the section's heading says it
		}
		s.charts = append(s.charts, drawn)
	}
	return s
}

// firstRows are those that a picture has room for, and a note on the others.
func firstRows[T any](all []T, what string) ([]T, []string) {
	if len(all) <= mostRows {
		return all, nil
	}
	return all[:mostRows], []string{fmt.Sprintf("The picture has the first %d of %d %s; the table has more.", mostRows, len(all), what)}
}
