package report

import (
	"io"

	"windtunnel/analysis"
	"windtunnel/result"
)

// The object that `compare --format json` prints. Other programs rely on the names: fields are only ever added.
type comparedObject struct {
	Format      int                   `json:"format"`
	Before      comparedRunObject     `json:"before"`
	After       comparedRunObject     `json:"after"`
	Comparable  bool                  `json:"comparable"`
	Reason      *string               `json:"reason"` // why not
	Differences []differenceObject    `json:"differences"`
	Comparisons int                   `json:"comparisons"` // that share an error of 5 %
	Limit       *float64              `json:"gate_limit"`  // 0.05 is 5 %; null: no gate
	Gate        *string               `json:"gate"`        // broken, holds, undecided, unjudged; null: no gate
	Cells       []comparedCellObject  `json:"cells"`
	Ratios      []comparedRatioObject `json:"ratios"`
	Doubts      []doubtObject         `json:"doubts"`
}

type comparedRunObject struct {
	Run       string  `json:"run"`
	Suite     string  `json:"suite"`
	StartedAt string  `json:"started_at"`
	Version   string  `json:"version"`
	Foreign   *string `json:"foreign"` // the tool that measured; null: windtunnel
}

// differenceObject is a difference; null is "not known".
type differenceObject struct {
	Effect string  `json:"effect"` // forbids, warns, tells
	Where  *string `json:"where"`  // "node a"; null: the run, or the cell
	What   string  `json:"what"`
	Before *string `json:"before"`
	After  *string `json:"after"`
}

type comparedCellObject struct {
	Cell        string                 `json:"cell"`
	Says        string                 `json:"says"`
	Compared    bool                   `json:"compared"`
	Reason      *string                `json:"reason"` // why not
	Differences []differenceObject     `json:"differences"`
	Figures     []comparedFigureObject `json:"figures"`
}

type comparedFigureObject struct {
	Metric  result.Metric  `json:"metric"`
	Before  result.Figure  `json:"before"`
	After   result.Figure  `json:"after"`
	Ratio   estimateObject `json:"ratio"` // after over before
	Differs bool           `json:"differs"`
	Verdict string         `json:"verdict"`
	Gate    *string        `json:"gate"`
}

type comparedRatioObject struct {
	Ratio   string         `json:"ratio"`
	Before  estimateObject `json:"before"`
	After   estimateObject `json:"after"`
	Change  estimateObject `json:"change"` // after over before
	Differs bool           `json:"differs"`
	Verdict string         `json:"verdict"`
}

type estimateObject struct {
	Estimate *float64 `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	N        int      `json:"n"`
	Reason   *string  `json:"reason"` // why there is no estimate
}

func estimateOf(e analysis.Estimate) estimateObject {
	o := estimateObject{Low: e.Low, High: e.High, N: e.N, Reason: orNull(e.Reason)}
	if e.Known() {
		o.Estimate = &e.Estimate
	}
	return o
}

func comparedRunOf(r result.Run) comparedRunObject {
	return comparedRunObject{Run: r.ID, Suite: r.Suite, StartedAt: r.StartedAt, Version: r.Version, Foreign: orNull(r.Foreign)}
}

func differencesOf(all []analysis.Difference) []differenceObject {
	objects := []differenceObject{}
	for _, d := range all {
		objects = append(objects, differenceObject{string(d.Effect), orNull(d.Where), d.What, orNull(d.Before), orNull(d.After)})
	}
	return objects
}

func writeComparedJSON(w io.Writer, c analysis.Compared, _ Options) error {
	return writeObject(w, comparedObjectOf(c))
}

func comparedObjectOf(c analysis.Compared) comparedObject {
	o := comparedObject{
		Format: 1, Before: comparedRunOf(c.Before), After: comparedRunOf(c.After),
		Comparable: c.Forbidden == "", Reason: orNull(c.Forbidden), Differences: differencesOf(c.Differences),
		Comparisons: c.Family, Gate: orNull(string(c.Gate)), Cells: []comparedCellObject{}, Ratios: []comparedRatioObject{}, Doubts: []doubtObject{},
	}
	if c.Limit > 0 {
		o.Limit = &c.Limit
	}
	for _, cell := range c.Cells {
		one := comparedCellObject{Cell: cell.Name, Says: cell.Says, Compared: cell.Reason == "", Reason: orNull(cell.Reason),
			Differences: differencesOf(cell.Differences), Figures: []comparedFigureObject{}}
		for _, f := range cell.Figures {
			one.Figures = append(one.Figures, comparedFigureObject{f.Metric, f.Before, f.After, estimateOf(f.Ratio), f.Ratio.Differs(), f.Verdict, orNull(string(f.Gate))})
		}
		o.Cells = append(o.Cells, one)
	}
	for _, r := range c.Ratios {
		o.Ratios = append(o.Ratios, comparedRatioObject{r.Ratio.Name(), estimateOf(r.Before), estimateOf(r.After), estimateOf(r.Change), r.Change.Differs(), r.Verdict})
	}
	for _, d := range c.Doubts {
		o.Doubts = append(o.Doubts, doubtObject{orNull(d.Cell), d.Kind, d.Says})
	}
	return o
}
