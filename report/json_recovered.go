package report

import (
	"windtunnel/analysis"
	"windtunnel/result"
)

// recoveredObject is what suspects of a ratio give back, as shares of its gap: what gives most comes first.
type recoveredObject struct {
	Ratio    string            `json:"ratio"` // by its name in ratios
	Verdict  string            `json:"verdict"`
	Factors  []factorObject    `json:"factors"`
	Untested []result.Untested `json:"untested"`
}

type factorObject struct {
	Factor string        `json:"factor"`
	Says   string        `json:"says"`
	Both   bool          `json:"both"` // changed alike in both cells; else the first has it as the second
	Cells  []string      `json:"cells"`
	Share  result.Figure `json:"share"`           // of the gap: 0.71; or a reason
	Hides  string        `json:"hides,omitempty"` // why the change may hide the gap and not close it
	Shows  string        `json:"shows,omitempty"` // the verdict with the change, where there is a gap only then
}

func recoveredOf(r *analysis.Recovered) *recoveredObject {
	if r == nil {
		return nil
	}
	o := &recoveredObject{Ratio: r.Ratio.Ratio.Name(), Verdict: r.Ratio.Verdict, Factors: []factorObject{}, Untested: []result.Untested{}}
	for _, f := range r.Factors {
		o.Factors = append(o.Factors, factorObject{Factor: f.Name, Says: f.Says, Both: f.Both, Cells: list(f.Cells), Share: f.Share, Hides: f.Hides, Shows: f.Shows})
	}
	o.Untested = append(o.Untested, r.Untested...)
	return o
}
