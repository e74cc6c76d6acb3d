package analysis

import (
	"cmp"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/stats"
)

// Past is what a history needs of a run: its records without the trials, and the figures of its cells and ratios.
type Past struct {
	Path   string // of its folder
	Run    result.Run
	Cells  []Cell  // Spec without drawings; Status, Trials, WindowSeconds, Congestion and the known Figures
	Ratios []Ratio // Ratio and Estimate, of those that are known
}

// PastOf keeps of a run what a history needs.
func PastOf(path string, file result.File) Past {
	f := Of(file)
	p := Past{Path: path, Run: f.Run}
	for _, c := range f.Cells {
		kept := Cell{Spec: c.Spec, Status: c.Status, Reason: c.Reason, Trials: c.Trials, WindowSeconds: c.WindowSeconds, Congestion: c.Congestion,
			Figures: map[result.Metric]result.Figure{}}
		kept.Spec.Topology, kept.Spec.Configuration, kept.Spec.Engines = "", "", ""
		for m, figure := range c.Figures {
			if figure.Known() {
				kept.Figures[m] = figure
			}
		}
		p.Cells = append(p.Cells, kept)
	}
	for _, r := range f.Ratios {
		if r.Estimate.Known() {
			p.Ratios = append(p.Ratios, Ratio{Ratio: r.Ratio, Estimate: r.Estimate})
		}
	}
	return p
}

// History is how the figures of a suite went over its runs.
type History struct {
	Suite  string
	Runs   []Past // in the order of time
	Series []Series
	Left   []LeftOut
	Doubts []result.Doubt
}

// LeftOut is a run that could not be read.
type LeftOut struct{ Path, Why string }

// Series is one figure of one cell, or one ratio, over the runs whose figures may be compared. Where a run may not be
// compared with the one before, another series begins, and Why says so.
type Series struct {
	Cell, Says string
	Metric     result.Metric
	Ratio      string // as a suite writes it, of a ratio; Cell is empty then
	Why        string // why it does not go on from an earlier one; "": it is the first
	Points     []Point
	Changes    []Change
}

// Point is a run's figure.
type Point struct {
	Run    int // in History.Runs
	Figure result.Figure
}

// Change is where a series' level changed for good.
type Change struct {
	stats.ChangePoint
	Verdict     string       // "6.1 % slower"
	Differences []Difference // of the two runs about it, but those that are told only
}

// EnoughRuns is from how many runs on a series can have a change: of fewer, too large a part of the orders of the same
// figures looks as much like one.
const EnoughRuns = 9

// NewLevel is how many of a series' last runs have to be of a new level, at the least, for it to be called a change; 0: it has too few.
func NewLevel(runs int) int { return stats.NewLevel(runs) }

// mostSeries bounds what is shown, and the work of it.
const mostSeries = 2000

// HistoryOf puts runs of a suite in the order of time. Metrics are those of every cell; none: those that its load is for.
func HistoryOf(suite string, runs []Past, metrics []result.Metric) History {
	h := History{Suite: suite, Runs: slices.Clone(runs)}
	slices.SortStableFunc(h.Runs, func(a, b Past) int {
		return cmp.Or(began(a).Compare(began(b)), cmp.Compare(a.Path, b.Path))
	})
	t := tracer{History: &h, metrics: metrics, cells: map[string][]*lineage{}, ratios: map[string][]*lineage{}, forbidden: map[int]string{}}
	for i := range h.Runs {
		t.add(i)
	}
	for i := range h.Series {
		h.Series[i].mark(h.Runs)
	}
	if t.left > 0 {
		h.Doubts = append(h.Doubts, result.Doubt{Kind: "too-many", Says: "the runs have more series than are shown: name fewer figures by --metric"})
	}
	return h
}

// began is the zero time where a run's record has no time that can be read: such a run comes first.
func began(p Past) time.Time {
	t, err := time.Parse(time.RFC3339, p.Run.StartedAt)
	if err != nil {
		return time.Time{}
	}
	return t
}

// tracer follows cells through runs.
type tracer struct {
	*History
	metrics       []result.Metric
	cells, ratios map[string][]*lineage // by name, in the order in which they began
	left          int
	forbidden     map[int]string // by an earlier run: what forbids to compare this one with it, which all cells ask
}

// lineage is a cell in runs that may be compared.
type lineage struct {
	run    int // its last
	cell   Cell
	series map[result.Metric]int // in History.Series
	over   *lineage              // of a ratio, those of its cells
	under  *lineage
}

func (t *tracer) add(run int) {
	now := map[string]*lineage{}
	clear(t.forbidden)
	for _, c := range t.Runs[run].Cells {
		if c.Status != Measured {
			continue
		}
		l, why := t.lineageOf(run, c)
		now[c.Spec.Name] = l
		for _, m := range t.metricsOf(c) {
			if figure := c.Figure(m); figure.Known() {
				t.point(l, m, Series{Cell: c.Spec.Name, Says: c.Spec.Says, Metric: m, Why: why}, Point{run, figure})
			}
		}
	}
	for _, r := range t.Runs[run].Ratios {
		over, under := now[r.Ratio.Over], now[r.Ratio.Under]
		if over == nil || under == nil {
			continue
		}
		l, why := t.ratioLineage(r.Ratio.Name(), over, under)
		e := r.Estimate
		t.point(l, r.Ratio.Metric, Series{Ratio: r.Ratio.Short(), Metric: r.Ratio.Metric, Why: why}, Point{run, result.Figure{Mean: e.Estimate, Low: e.Low, High: e.High, N: e.N}})
	}
}

func (t *tracer) metricsOf(c Cell) []result.Metric {
	if len(t.metrics) > 0 {
		return t.metrics
	}
	return metricsOfLoad(c)
}

// lineageOf is the latest lineage whose last run may be compared with this cell, or a new one, and why it does not go on
// from the latest.
func (t *tracer) lineageOf(run int, c Cell) (*lineage, string) {
	all, why := t.cells[c.Spec.Name], ""
	for i := len(all) - 1; i >= 0; i-- {
		reason := t.mayFollow(all[i], run, c)
		if reason == "" {
			all[i].run, all[i].cell = run, c
			return all[i], ""
		}
		if why == "" {
			why = reason
		}
	}
	l := &lineage{run: run, cell: c, series: map[result.Metric]int{}}
	t.cells[c.Spec.Name] = append(all, l)
	return l, why
}

// mayFollow says why a cell may not be compared with the last of a lineage.
func (t *tracer) mayFollow(l *lineage, run int, c Cell) string {
	before, after := t.Runs[l.run].Run, t.Runs[run].Run
	why, known := t.forbidden[l.run]
	if !known {
		why = forbidding(runDifferences(before, after))
		t.forbidden[l.run] = why
	}
	if why != "" {
		return why
	}
	return forbidding(cellDifferences(before, after, l.cell, c))
}

func (t *tracer) ratioLineage(name string, over, under *lineage) (*lineage, string) {
	why := ""
	for _, l := range t.ratios[name] {
		if l.over == over && l.under == under {
			return l, ""
		}
		why = "another machine, or other cells"
	}
	l := &lineage{series: map[result.Metric]int{}, over: over, under: under}
	t.ratios[name] = append(t.ratios[name], l)
	return l, why
}

// point appends a figure to its series, which it may begin.
func (t *tracer) point(l *lineage, m result.Metric, fresh Series, p Point) {
	at, ok := l.series[m]
	if !ok {
		if len(t.Series) >= mostSeries {
			t.left++
			return
		}
		at = len(t.Series)
		t.Series = append(t.Series, fresh)
		l.series[m] = at
	}
	t.Series[at].Points = append(t.Series[at].Points, p)
}

// mark finds the changes of a series.
func (s *Series) mark(runs []Past) {
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.Figure.Mean
	}
	words := Words(s.Metric)
	if s.Ratio != "" {
		words = stats.Words{Less: "lower", More: "higher", As: "as high"}
	}
	for _, c := range stats.ChangePoints(values) {
		if c.Index < 1 || c.Index >= len(s.Points) {
			continue
		}
		change := Change{ChangePoint: c, Verdict: "from zero"}
		if c.Before > 0 {
			change.Verdict = stats.Change(c.After/c.Before, words)
		}
		for _, d := range runDifferences(runs[s.Points[c.Index-1].Run].Run, runs[s.Points[c.Index].Run].Run) {
			if d.Effect != Tells {
				change.Differences = append(change.Differences, d)
			}
		}
		s.Changes = append(s.Changes, change)
	}
}

// Name is the cell's or the ratio's.
func (s Series) Name() string {
	if s.Ratio != "" {
		return s.Ratio
	}
	return s.Cell
}
