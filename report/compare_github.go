package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"windtunnel/analysis"
)

// mostSummary is how many bytes of rows a summary has: GitHub takes at most 1 MiB of a step (its documentation, "Workflow
// commands", on job summaries), and shows nothing of one that is longer.
const mostSummary = 900 << 10

// writeGitHub is a summary for a page of GitHub's ($GITHUB_STEP_SUMMARY): the gate, a table, and the rest folded away.
func writeGitHub(w io.Writer, c analysis.Compared, _ Options) error {
	out := markdown{bufio.NewWriter(w)}
	out.line("## "+githubHeading(c), "", escape(bounded(comparedIntro(c), mostText)), "")
	if c.Forbidden != "" {
		out.line("> [!CAUTION]", "> These runs may not be compared: "+escape(bounded(c.Forbidden, mostText)), "")
	} else if says := gateSentence(c); says != "" {
		out.line("> "+githubAlerts[githubGate(c)], "> Gate "+escape(says), "")
	}
	out.githubFigures(c)
	for _, s := range []section{comparedRatios(c), differences(c), doubtList(c.Doubts)} {
		out.folded(s)
	}
	return out.Flush()
}

// githubAlerts are the boxes that GitHub's Markdown has (its documentation, "Basic writing and formatting syntax", on alerts).
var githubAlerts = map[analysis.Gate]string{
	analysis.GateBroken:    "[!CAUTION]",
	analysis.GateHolds:     "[!TIP]",
	analysis.GateUndecided: "[!WARNING]",
	analysis.GateUnjudged:  "[!WARNING]",
}

func githubHeading(c analysis.Compared) string {
	mark := map[analysis.Gate]string{analysis.GateBroken: "❌ ", analysis.GateHolds: "✅ ", analysis.GateUndecided: "⚠️ ", analysis.GateUnjudged: "⚠️ "}[githubGate(c)]
	if c.Forbidden != "" {
		mark = "⛔ "
	}
	return mark + escape(bounded(comparedTitle(c), mostText))
}

// githubGate is what is seen of a gate at first sight: a cell that failed is no success.
func githubGate(c analysis.Compared) analysis.Gate {
	if c.Gate == analysis.GateHolds && !c.Whole() {
		return analysis.GateUndecided
	}
	return c.Gate
}

// githubFigures is a row a figure, and a row a cell that was not compared.
func (m markdown) githubFigures(c analysis.Compared) {
	if len(c.Cells) == 0 {
		return
	}
	names := []string{"cell", "figure", "first run", "second run", "change"}
	if c.Limit > 0 {
		names = append(names, "gate")
	}
	m.row(names)
	m.row(strings.Split(strings.Repeat("--- ", len(names)), " ")[:len(names)])
	room, left := mostSummary, 0
	for _, cell := range c.Cells {
		for _, row := range githubRows(c, cell) {
			for _, text := range row {
				room -= len(text) + len(" | ")
			}
			if room < 0 {
				left++
				continue
			}
			m.row(row)
		}
	}
	m.line("")
	if left > 0 {
		m.line(fmt.Sprintf("%s more rows do not fit into a summary; `--format json` has them all.", escape(fmt.Sprint(left))), "")
	}
}

func githubRows(c analysis.Compared, cell analysis.ComparedCell) [][]string {
	if cell.Reason != "" {
		row := []string{escape(cell.Name), "", "", "", "not compared: " + escape(cell.Reason)}
		if c.Limit > 0 {
			row = append(row, "not judged")
		}
		return [][]string{row}
	}
	var rows [][]string
	for _, f := range cell.Figures {
		unit, factor := shownUnit(f.Metric)
		row := []string{escape(cell.Name), escape(f.Metric.Word()), inUnit(f.Before, factor) + " " + unit, inUnit(f.After, factor) + " " + unit, escape(f.Verdict)}
		if c.Limit > 0 {
			row = append(row, gateWords[f.Gate])
		}
		rows = append(rows, row)
	}
	return rows
}

// mostFolded is how many bytes of items a section of a summary has.
const mostFolded = 20 << 10

// folded is a section that opens on a click.
func (m markdown) folded(s section) {
	if len(s.items) == 0 {
		return
	}
	m.line("<details><summary>"+escape(s.heading)+"</summary>", "")
	room := mostFolded
	for i, one := range s.items {
		var text strings.Builder
		of := markdown{bufio.NewWriter(&text)}
		of.item(one)
		of.Flush()
		if room -= text.Len(); room < 0 {
			m.line(fmt.Sprintf("- and %d more", len(s.items)-i))
			break
		}
		m.WriteString(text.String())
	}
	m.line("", "</details>", "")
}
