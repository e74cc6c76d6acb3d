package result

import (
	"fmt"
	"strings"
)

// Ratio names one cell's metric over another's: "D/B" or "cpu.b: B/A".
type Ratio struct {
	Metric Metric `json:"metric"`
	Over   string `json:"over"`  // the numerator's cell
	Under  string `json:"under"` // the denominator's cell
}

// Name is how reports and the JSON object key a ratio: "D/B" for the received
// rate, "cpu_percent.b: B/A" else.
func (r Ratio) Name() string {
	name := r.Over + "/" + r.Under
	if r.Metric == ReceivedRate || r.Metric == "" {
		return name
	}
	return string(r.Metric) + ": " + name
}

// Short is how a suite writes the ratio: "D/B" or "cpu.b: B/A".
func (r Ratio) Short() string {
	name := r.Over + "/" + r.Under
	if r.Metric == ReceivedRate || r.Metric == "" {
		return name
	}
	return r.Metric.Word() + ": " + name
}

// IsCalled tells whether a name is the ratio's as a suite or the result writes it, spaces aside.
func (r Ratio) IsCalled(name string) bool {
	bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	return bare(name) == bare(r.Short()) || bare(name) == bare(r.Name())
}

// Comparison is what a predicate says of one ratio: that it lies in
// [Low, High]. A missing bound is nil, so "<= 1" has only a High.
type Comparison struct {
	Ratio Ratio    `json:"ratio"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// Predicate is a conjunction: it holds when every comparison does.
type Predicate struct {
	Text string       `json:"text"` // as the suite wrote it
	All  []Comparison `json:"all"`
}

// Ratios lists the ratios that the predicate speaks of, each once, in order.
func (p Predicate) Ratios() []Ratio {
	var ratios []Ratio
	seen := map[string]bool{}
	for _, c := range p.All {
		if name := c.Ratio.Name(); !seen[name] {
			seen[name] = true
			ratios = append(ratios, c.Ratio)
		}
	}
	return ratios
}

// String writes the comparison the way a suite would.
func (c Comparison) String() string {
	name := c.Ratio.Name()
	switch {
	case c.Low != nil && c.High != nil:
		return fmt.Sprintf("%s between %g and %g", name, *c.Low, *c.High)
	case c.Low != nil:
		return fmt.Sprintf("%s >= %g", name, *c.Low)
	case c.High != nil:
		return fmt.Sprintf("%s <= %g", name, *c.High)
	}
	return strings.TrimSpace(name)
}
