package report

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// csvColumns are those of every line. A metric has its unit in its name. Says is the reason of a figure that is
// missing, or what a doubt or a verdict says.
var csvColumns = []string{"record", "cell", "metric", "from", "to", "mean", "low", "high", "n", "says"}

// writeCSV writes a line for each figure (RFC 4180): of cells, of pairs, of ratios; and then verdicts and doubts.
func writeCSV(w io.Writer, f analysis.Findings, _ Options) error {
	out := csv.NewWriter(w)
	lines := [][]string{csvColumns}
	for _, c := range f.Cells {
		for _, m := range slices.Sorted(maps.Keys(c.Figures)) {
			lines = append(lines, csvFigure([]string{"figure", c.Spec.Name, string(m), "", ""}, c.Figures[m]))
		}
		for _, p := range c.Pairs {
			lines = append(lines,
				csvFigure([]string{"pair", c.Spec.Name, string(result.SentRate), p.From, p.To}, p.Sent),
				csvFigure([]string{"pair", c.Spec.Name, string(result.ReceivedRate), p.From, p.To}, p.Received),
				csvFigure([]string{"pair", c.Spec.Name, string(result.Latency(result.LatencyIntended, "p50")), p.From, p.To}, p.Latency))
		}
	}
	for _, c := range f.Cells {
		lines = append(lines, csvLayers(c)...)
	}
	for _, r := range f.Ratios {
		lines = append(lines, csvChanges(r)...)
		lines = append(lines, csvFigure([]string{"ratio", r.Ratio.Over + "/" + r.Ratio.Under, string(r.Ratio.Metric), "", ""},
			result.Figure{Mean: r.Estimate.Estimate, Low: r.Estimate.Low, High: r.Estimate.High, N: r.Estimate.N, Reason: r.Estimate.Reason}))
	}
	for _, h := range f.Hypotheses {
		lines = append(lines, []string{"hypothesis", "", h.ID, "", "", "", "", "", "", string(h.Verdict) + ": " + h.Says})
	}
	for _, d := range f.Doubts {
		lines = append(lines, []string{"doubt", d.Cell, d.Kind, "", "", "", "", "", "", d.Says})
	}
	for _, line := range lines {
		for i, text := range line {
			if i < firstNumber || i > lastNumber {
				line[i] = plainText(text)
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// The columns that hold numbers.
const firstNumber, lastNumber = 5, 8

// plainText is a text that no spreadsheet takes for a formula: those begin with these characters.
func plainText(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		text = "'" + text
	}
	return result.Clean(text)
}

func csvFigure(line []string, f result.Figure) []string {
	if !f.Known() {
		return append(line, "", "", "", "", f.Reason)
	}
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	return append(line, bound(&f.Mean), bound(f.Low), bound(f.High), strconv.Itoa(f.N), "")
}
