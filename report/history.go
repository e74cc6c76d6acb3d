package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// historyFormats is the registry of the ways to write a history.
var historyFormats = ways[analysis.History]{"history", []way[analysis.History]{
	{"text", func(w io.Writer, h analysis.History, o Options) error { return documentText(w, historyDocument(h), o) }},
	{"md", writeHistoryMarkdown},
	{"json", writeHistoryJSON},
	{"csv", writeHistoryCSV},
}}

// HistoryFormats lists the formats of a history, the default first.
func HistoryFormats() []string { return historyFormats.names() }

// CheckHistory tells, before runs are read, whether WriteHistory will know the format.
func CheckHistory(format string) error {
	_, err := historyFormats.find(format)
	return err
}

// WriteHistory writes a history in a format. An unknown format's error names the nearest one.
func WriteHistory(format string, w io.Writer, h analysis.History, o Options) error {
	return historyFormats.write(format, w, h, o)
}

func writeHistoryMarkdown(w io.Writer, h analysis.History, _ Options) error {
	return writeMarkdownOf(w, historyDocument(h), false)
}

// historyDocument puts the changes first, then every series, then the runs and what is missing.
func historyDocument(h analysis.History) document {
	d := document{title: h.Suite + ": history of " + count(len(h.Runs), "run"), intro: []string{historyIntro(h)}}
	for _, s := range []section{historyChanges(h), historySeries(h), historyBreaks(h), historyLeft(h), doubtList(h.Doubts)} {
		if s.table != nil || len(s.notes) > 0 || len(s.items) > 0 {
			d.sections = append(d.sections, s)
		}
	}
	return d
}

func historyIntro(h analysis.History) string {
	if len(h.Runs) == 0 {
		return "No run of it could be read."
	}
	first, last := h.Runs[0].Run, h.Runs[len(h.Runs)-1].Run
	return fmt.Sprintf("From %s (%s) to %s (%s). A series holds runs that may be compared: of one machine, and of cells with the same settings.",
		first.StartedAt, first.ID, last.StartedAt, last.ID)
}

// historyChanges is a sentence a change, with what else changed between the two runs.
func historyChanges(h analysis.History) section {
	s := section{heading: "Changes"}
	most := 0
	for _, one := range h.Series {
		most = max(most, len(one.Points))
		for _, c := range one.Changes {
			s.items = append(s.items, historyChange(h, one, c))
		}
	}
	switch {
	case len(s.items) > 0:
		s.notes = append(s.notes, "A change is where the level of the runs after it is another one; single odd runs are none.")
	case most < analysis.EnoughRuns:
		s.notes = append(s.notes, fmt.Sprintf("None can be found yet: the longest series has %s, and a change needs %d, of which at least %d are of the new level, so %d more. Until then `windtunnel compare` tells whether two runs differ.",
			count(most, "run"), analysis.EnoughRuns, analysis.NewLevel(analysis.EnoughRuns), analysis.EnoughRuns-most))
	default:
		s.notes = append(s.notes, fmt.Sprintf("None. In a series of %s a change takes at least %d of the new level.", count(most, "run"), analysis.NewLevel(most)))
	}
	return s
}

func historyChange(h analysis.History, s analysis.Series, c analysis.Change) item {
	unit, factor := unitOf(s)
	at := h.Runs[s.Points[c.Index].Run].Run
	levels := strings.TrimSpace(fmt.Sprintf("from %s to %s %s", rate(c.Before*factor), rate(c.After*factor), unit))
	i := item{name: s.Name(), mood: unsure, says: fmt.Sprintf("%s: %s since %s (%s), %s; sure by %s %%",
		figureOf(s), c.Verdict, at.StartedAt, at.ID, levels, strconv.FormatFloat(c.Sure*100, 'f', 1, 64))}
	for n, says := range differenceLines(c.Differences) {
		const enough = 8
		if n == enough {
			i.lines = append(i.lines, line{says: "and more: compare the two runs"})
			break
		}
		i.lines = append(i.lines, line{says: "there changed " + says})
	}
	if len(c.Differences) == 0 {
		i.lines = append(i.lines, line{says: "nothing that the run files tell changed there"})
	}
	return i
}

// differenceLines has each difference once, with all the places that it is of.
func differenceLines(all []analysis.Difference) []string {
	var lines []string
	for _, d := range eachOnce(all) {
		d.Where = d.where()
		lines = append(lines, d.String())
	}
	return lines
}

// figureOf is what a series is of; the name of a ratio tells of which metric.
func figureOf(s analysis.Series) string {
	if s.Ratio != "" {
		return "ratio"
	}
	return s.Metric.Word()
}

// unitOf is the unit of a series; a ratio has none.
func unitOf(s analysis.Series) (unit string, factor float64) {
	if s.Ratio != "" {
		return "", 1
	}
	return shownUnit(s.Metric)
}

// historySeries has a row a series, and draws it.
func historySeries(h analysis.History) section {
	t := &table{columns: []column{
		{name: "series", text: true}, {name: "figure", text: true}, {name: "unit"}, {name: "runs"},
		{name: "first"}, {name: "last"}, {name: "± %"}, {name: "over time"},
	}}
	for _, s := range h.Series {
		if len(s.Points) == 0 {
			continue
		}
		unit, factor := unitOf(s)
		last := s.Points[len(s.Points)-1].Figure
		t.rows = append(t.rows, []string{s.Name(), figureOf(s), unit, strconv.Itoa(len(s.Points)), inUnit(s.Points[0].Figure, factor),
			inUnit(last, factor), spread(last), sparkline(s)})
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Series", table: t, notes: []string{"Over time: the latest runs from least to most, each change marked by |."}}
}

func extremes(s analysis.Series) (low, high float64) {
	low, high = s.Points[0].Figure.Mean, s.Points[0].Figure.Mean
	for _, p := range s.Points {
		low, high = min(low, p.Figure.Mean), max(high, p.Figure.Mean)
	}
	return low, high
}

// sparkline draws the latest runs in block elements (U+2581 to U+2588), from the least to the most.
func sparkline(s analysis.Series) string {
	const most = 24
	const blocks = "▁▂▃▄▅▆▇█"
	low, high := extremes(s)
	change := map[int]bool{}
	for _, c := range s.Changes {
		change[c.Index] = true
	}
	var text strings.Builder
	for i := max(0, len(s.Points)-most); i < len(s.Points); i++ {
		if change[i] && text.Len() > 0 {
			text.WriteByte('|')
		}
		level := 0.5
		if high > low {
			level = (s.Points[i].Figure.Mean - low) / (high - low)
		}
		runes := []rune(blocks)
		text.WriteRune(runes[min(len(runes)-1, max(0, int(level*float64(len(runes)))))])
	}
	return text.String()
}

// historyBreaks says why series do not go on from earlier ones.
func historyBreaks(h analysis.History) section {
	s := section{heading: "Where runs may not be compared"}
	at := map[string]int{}
	for _, one := range h.Series {
		if one.Why == "" {
			continue
		}
		says := fmt.Sprintf("a new series begins with %s: %s", h.Runs[one.Points[0].Run].Run.ID, one.Why)
		i, again := at[says]
		if !again {
			i = len(s.items)
			at[says] = i
			s.items = append(s.items, item{says: says})
		}
		if name := one.Name(); !slices.Contains(strings.Split(s.items[i].name, ", "), name) {
			s.items[i].name = strings.TrimPrefix(s.items[i].name+", "+name, ", ")
		}
	}
	return s
}

func historyLeft(h analysis.History) section {
	s := section{heading: "Runs that cannot be read"}
	for _, l := range h.Left {
		s.items = append(s.items, item{says: l.Path + ": " + l.Why, mood: unsure})
	}
	return s
}

// The object that `history --format json` prints. Fields are only ever added.
type historyObject struct {
	Format int           `json:"format"`
	Suite  string        `json:"suite"`
	Runs   []historyRun  `json:"runs"` // in the order of time
	Series []historyLine `json:"series"`
	Left   []historyOut  `json:"left_out"`
	Doubts []doubtObject `json:"doubts"`
}

type historyRun struct {
	Path      string `json:"path"`
	Run       string `json:"run"`
	StartedAt string `json:"started_at"`
	Version   string `json:"version"`
}

type historyLine struct {
	Cell    *string         `json:"cell"`  // null: a ratio
	Ratio   *string         `json:"ratio"` // null: a cell's
	Metric  result.Metric   `json:"metric"`
	Reason  *string         `json:"not_comparable_before"` // why it does not go on from an earlier series
	Points  []historyPoint  `json:"points"`
	Changes []historyMarked `json:"changes"`
}

type historyPoint struct {
	Run    int           `json:"run"` // its place in runs, from 0
	Figure result.Figure `json:"figure"`
}

type historyMarked struct {
	Point       int                `json:"point"` // its place in points, from 0: the first of the new level
	Before      float64            `json:"before"`
	After       float64            `json:"after"`
	Sure        float64            `json:"sure"` // 0 to 1
	Verdict     string             `json:"verdict"`
	Differences []differenceObject `json:"differences"` // of the two runs about it
}

type historyOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

func writeHistoryJSON(w io.Writer, h analysis.History, _ Options) error {
	o := historyObject{Format: 1, Suite: h.Suite, Runs: []historyRun{}, Series: []historyLine{}, Left: []historyOut{}, Doubts: []doubtObject{}}
	for _, r := range h.Runs {
		o.Runs = append(o.Runs, historyRun{r.Path, r.Run.ID, r.Run.StartedAt, r.Run.Version})
	}
	for _, s := range h.Series {
		one := historyLine{Cell: orNull(s.Cell), Ratio: orNull(s.Ratio), Metric: s.Metric, Reason: orNull(s.Why), Points: []historyPoint{}, Changes: []historyMarked{}}
		for _, p := range s.Points {
			one.Points = append(one.Points, historyPoint(p))
		}
		for _, c := range s.Changes {
			one.Changes = append(one.Changes, historyMarked{c.Index, c.Before, c.After, c.Sure, c.Verdict, differencesOf(c.Differences)})
		}
		o.Series = append(o.Series, one)
	}
	for _, l := range h.Left {
		o.Left = append(o.Left, historyOut(l))
	}
	for _, d := range h.Doubts {
		o.Doubts = append(o.Doubts, doubtObject{orNull(d.Cell), d.Kind, d.Says})
	}
	return writeObject(w, o)
}

// writeHistoryCSV writes a line a point (RFC 4180), in the metric's base unit.
func writeHistoryCSV(w io.Writer, h analysis.History, _ Options) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"series", "cell", "ratio", "metric", "run", "started_at", "mean", "low", "high", "n", "change"}}
	for n, s := range h.Series {
		change := map[int]string{}
		for _, c := range s.Changes {
			change[c.Index] = c.Verdict
		}
		for i, p := range s.Points {
			run := h.Runs[p.Run].Run
			figure := csvFigure(nil, p.Figure)
			lines = append(lines, append(append([]string{strconv.Itoa(n + 1), plainText(s.Cell), plainText(s.Ratio), plainText(string(s.Metric)), plainText(run.ID), plainText(run.StartedAt)},
				figure[:4]...), change[i]))
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return err
	}
	return out.Error()
}
