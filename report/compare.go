package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// comparedFormats is the registry of the ways to write a comparison of two runs.
var comparedFormats = ways[analysis.Compared]{"comparison", []way[analysis.Compared]{
	{"text", writeComparedText},
	{"md", writeComparedMarkdown},
	{"json", writeComparedJSON},
	{"junit", writeJUnit},
	{"github", writeGitHub},
}}

// ComparedFormats lists the formats of a comparison, the default first.
func ComparedFormats() []string { return comparedFormats.names() }

// CheckCompared tells, before runs are read, whether WriteCompared will know the format.
func CheckCompared(format string) error {
	_, err := comparedFormats.find(format)
	return err
}

// WriteCompared writes a comparison in a format. An unknown format's error names the nearest one.
func WriteCompared(format string, w io.Writer, c analysis.Compared, o Options) error {
	return comparedFormats.write(format, w, c, o)
}

func writeComparedText(w io.Writer, c analysis.Compared, o Options) error {
	return documentText(w, comparedDocument(c), o)
}

func writeComparedMarkdown(w io.Writer, c analysis.Compared, _ Options) error {
	return writeMarkdownOf(w, comparedDocument(c), false)
}

// comparedDocument puts what may not be compared first, then the answer, then the figures, then what to doubt.
func comparedDocument(c analysis.Compared) document {
	d := document{title: comparedTitle(c), intro: []string{comparedIntro(c)}}
	for _, s := range []section{comparedAnswers(c), differences(c), comparedFigures(c), comparedRatios(c), doubtList(c.Doubts)} {
		if s.table != nil || len(s.notes) > 0 || len(s.items) > 0 {
			d.sections = append(d.sections, s)
		}
	}
	return d
}

func comparedTitle(c analysis.Compared) string {
	if c.Before.Suite != c.After.Suite {
		return c.Before.Suite + " and " + c.After.Suite + " compared"
	}
	return c.Before.Suite + ": two runs compared"
}

func comparedIntro(c analysis.Compared) string {
	text := fmt.Sprintf("First run: %s of %s. Second run: %s of %s.", c.Before.ID, c.Before.StartedAt, c.After.ID, c.After.StartedAt)
	if c.Family > 1 {
		text += fmt.Sprintf(" The intervals of all %d comparisons hold together with 95 %%; they are of the scatter within the two runs.", c.Family)
	}
	return text
}

// gateWords are how a gate reads.
var gateWords = map[analysis.Gate]string{
	analysis.GateBroken:    "broken",
	analysis.GateHolds:     "holds",
	analysis.GateUndecided: "undecided",
	analysis.GateUnjudged:  "not judged",
}

var gateMoods = map[analysis.Gate]mood{analysis.GateBroken: bad, analysis.GateHolds: good, analysis.GateUndecided: unsure, analysis.GateUnjudged: unsure}

// gateSentence is the gate's answer, "" without one.
func gateSentence(c analysis.Compared) string {
	limit := strconv.FormatFloat(c.Limit*100, 'g', -1, 64) + " %"
	switch c.Gate {
	case analysis.GateBroken:
		return fmt.Sprintf("broken: %s worse by more than %s, with all of the interval", are(c.Count(analysis.GateBroken), "figure"), limit)
	case analysis.GateHolds:
		if others := unjudged(c); others != "" {
			return "holds: no figure that could be judged is worse by " + limit + others
		}
		return "holds: no figure is worse by " + limit
	case analysis.GateUndecided:
		return fmt.Sprintf("not broken: of no figure is all of the interval worse by more than %s, but of %d a part is", limit, c.Count(analysis.GateUndecided))
	case analysis.GateUnjudged:
		return "not judged: no figure has an interval"
	}
	return ""
}

// unjudged counts the figures and cells that a gate has nothing to say of.
func unjudged(c analysis.Compared) string {
	text := ""
	if n := c.Count(analysis.GateUnjudged); n > 0 {
		text += "; " + count(n, "figure") + map[bool]string{true: " has", false: " have"}[n == 1] + " no interval"
	}
	if n := len(c.Left()); n > 0 {
		text += "; " + count(n, "cell") + map[bool]string{true: " was", false: " were"}[n == 1] + " not compared"
	}
	return text
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return strconv.Itoa(n) + " " + what + "s are"
}

// comparedAnswers is a sentence a figure, the differing ones and the broken gates by colour.
func comparedAnswers(c analysis.Compared) section {
	s := section{heading: "In short"}
	if says := gateSentence(c); says != "" && c.Forbidden == "" {
		s.items = append(s.items, item{name: "gate", says: says, mood: gateMoods[c.Gate]})
	}
	if c.Forbidden != "" {
		s.items = append(s.items, item{says: "These runs may not be compared: " + c.Forbidden + ".", mood: bad})
		return s
	}
	for _, cell := range c.Cells {
		for _, f := range cell.Figures {
			s.items = append(s.items, item{name: cell.Name, says: figureSentence(f), mood: gateMoods[f.Gate]})
		}
	}
	if len(s.items) == 0 {
		s.notes = append(s.notes, "No cell could be compared; the doubts say why.")
	}
	return s
}

func figureSentence(f analysis.ComparedFigure) string {
	text := f.Metric.Word() + ": " + f.Verdict
	if f.Gate != "" {
		text += " (gate: " + gateWords[f.Gate] + ")"
	}
	return text
}

// differences are those of the runs and of their cells.
func differences(c analysis.Compared) section {
	s := section{heading: "What differs between the runs"}
	all := slices.Clone(c.Differences)
	for _, cell := range c.Cells {
		for _, d := range cell.Differences {
			d.Where = "cell " + cell.Name
			all = append(all, d)
		}
	}
	for _, d := range eachOnce(all) {
		i := item{name: string(d.Effect), says: d.String(), mood: map[analysis.Effect]mood{analysis.Forbids: bad, analysis.Warns: unsure}[d.Effect]}
		if where := d.where(); where != "" {
			i.lines = []line{{says: where}}
		}
		s.items = append(s.items, i)
	}
	if len(s.items) == 0 {
		s.notes = append(s.notes, "Nothing that the run files tell: not the machine, its settings, the versions or the cells.")
	}
	return s
}

// placedDifference is a difference, without its place, and all the places that it is of.
type placedDifference struct {
	analysis.Difference
	places []string
}

// eachOnce has each difference once.
func eachOnce(all []analysis.Difference) []placedDifference {
	var once []placedDifference
	at := map[analysis.Difference]int{}
	for _, d := range all {
		where := d.Where
		d.Where = ""
		i, again := at[d]
		if !again {
			i = len(once)
			at[d] = i
			once = append(once, placedDifference{Difference: d})
		}
		if where != "" {
			once[i].places = append(once[i].places, where)
		}
	}
	return once
}

// where names the first of the places.
func (d placedDifference) where() string {
	const most = 40
	text := strings.Join(d.places[:min(len(d.places), most)], ", ")
	if more := len(d.places) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// comparedFigures has a row a figure.
func comparedFigures(c analysis.Compared) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "figure", text: true}, {name: "unit"},
		{group: "first run", name: "mean"}, {group: "first run", name: "± %"}, {group: "second run", name: "mean"}, {group: "second run", name: "± %"},
		{group: "change, %", name: "mean"}, {group: "change, %", name: "from"}, {group: "change, %", name: "to"},
	}}
	for _, cell := range c.Cells {
		for _, f := range cell.Figures {
			t.rows = append(t.rows, figureRow(cell, f))
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Figures", table: t}
}

func figureRow(cell analysis.ComparedCell, f analysis.ComparedFigure) []string {
	unit, factor := shownUnit(f.Metric)
	change, low, high := changes(f.Ratio)
	mean := func(figure result.Figure) string {
		if f.Metric == result.FoundRate && figure.Known() && figure.High == nil && figure.Low != nil {
			return ">= " + rate(*figure.Low*factor)
		}
		return inUnit(figure, factor)
	}
	return []string{cell.Name, f.Metric.Word(), unit, mean(f.Before), spread(f.Before), mean(f.After), spread(f.After), change, low, high}
}

// changes are an estimate and its bounds as percentages of change.
func changes(e analysis.Estimate) (change, low, high string) {
	change, low, high = dash, dash, dash
	if e.Known() {
		change = percentage(e.Estimate)
	}
	if e.OneSided() {
		change = dash
	}
	if e.Low != nil {
		low = percentage(*e.Low)
	}
	if e.High != nil {
		high = percentage(*e.High)
	}
	return change, low, high
}

// percentage is a change in percent; one beyond all measure is only told as such.
func percentage(ratio float64) string {
	const most = 10
	if ratio > most {
		return fmt.Sprintf("> %+d", (most-1)*100)
	}
	return fmt.Sprintf("%+.1f", (ratio-1)*100)
}

// shownUnit is the unit in which a figure is shown and what its base unit is multiplied by.
func shownUnit(m result.Metric) (unit string, factor float64) {
	switch {
	case m == result.ReceivedRate || m == result.SentRate:
		return "Mbit/s", 1e-6
	case m.IsLatency() || m == result.Jitter:
		return "us", 1e6
	case m == result.OutageTime:
		return "ms", 1e3
	case m == result.FoundRate:
		return "per s", 1
	case strings.HasPrefix(string(m), "cpu_ns_per_kib"):
		return "ns/KiB", 1
	case strings.HasPrefix(string(m), "cpu_ns_per_packet"):
		return "ns/packet", 1
	case m == result.DeviceCycles:
		return "cycles", 1
	case strings.Contains(string(m), "percent"):
		return "%", 1
	case strings.HasSuffix(string(m), "bytes_per_packet"):
		return "bytes", 1
	case strings.Contains(string(m), "per_second") || m == result.PacketsPerBusyCore:
		return "k/s", 1e-3
	}
	return "", 1
}

func inUnit(f result.Figure, factor float64) string {
	if !f.Known() {
		return dash
	}
	return rate(f.Mean * factor)
}

// comparedRatios are the suite's ratios in both runs.
func comparedRatios(c analysis.Compared) section {
	s := section{heading: "Ratios within each run"}
	for _, r := range c.Ratios {
		i := item{name: r.Ratio.Short(), says: fmt.Sprintf("%s in the first run, %s in the second: %s", r.Before, r.After, r.Verdict)}
		if !r.Change.Differs() {
			i.mood = unsure
		}
		s.items = append(s.items, i)
	}
	if len(s.items) > 0 {
		s.notes = append(s.notes, "A ratio is taken within the blocks of its run, so what a machine does to all cells alike is not in it.")
	}
	return s
}
