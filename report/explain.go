package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// mostExplained is how many causes an explanation has: with what stands around them, about ten lines.
const mostExplained = 3

// CheckExplained tells, before anything is written, whether Explain will know the ratio.
func CheckExplained(f analysis.Findings, ratio string) error {
	_, err := ratioNamed(f, ratio)
	return err
}

// Explain writes the answer for one ratio of a run, "B/A" or "cpu.b: B/A", in a few lines of plain words, with the
// evidence. An unknown ratio's error names the nearest one.
func Explain(w io.Writer, f analysis.Findings, ratio string, o Options) error {
	r, err := ratioNamed(f, ratio)
	if err != nil {
		return err
	}
	if o.Width <= 0 || o.Width > widest {
		o.Width = widest
	}
	o.Width = max(o.Width, 40)
	out := &text{Writer: bufio.NewWriter(w), Options: o}
	out.hanging("", sentence(f, r), 2, "")
	out.section(explanation(r))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return nil
}

// ratioNamed finds a ratio as a suite or the result names it, spaces aside.
func ratioNamed(f analysis.Findings, name string) (analysis.Ratio, error) {
	var known []string
	for _, r := range f.Ratios {
		if r.Ratio.IsCalled(name) {
			return r, nil
		}
		known = append(known, r.Ratio.Short())
	}
	if len(known) == 0 {
		return analysis.Ratio{}, fmt.Errorf("the run has no ratios to explain: name some in the suite (`ratios: [B/A]`), and run it again")
	}
	return analysis.Ratio{}, fmt.Errorf("%s", result.UnknownWord("ratio", name, known))
}

// explanation is the causes of a ratio, and what to trust them by.
func explanation(r analysis.Ratio) section {
	s := section{}
	if !r.Estimate.Known() {
		return s
	}
	for n, c := range r.Causes[:min(len(r.Causes), mostExplained)] {
		i := item{name: fmt.Sprintf("%d.", n+1), says: c.Says + " (" + c.ShareWords() + ")"}
		if len(c.Evidence) > 0 {
			i.lines = append(i.lines, line{says: strings.Join(c.Evidence, "; ")})
		}
		if c.By != "" && c.Share.Known() {
			i.lines = append(i.lines, line{says: "reckoned by " + c.By})
		}
		s.items = append(s.items, i)
	}
	if len(r.Causes) == 0 {
		if r.Estimate.Bounded() && !r.Estimate.Differs() {
			s.notes = append(s.notes, "No difference is claimed, so that there is none to explain.")
		} else {
			s.notes = append(s.notes, "Nothing that was looked at explains it.")
		}
		for _, e := range r.Evidence {
			s.notes = append(s.notes, e+".")
		}
	}
	if more := len(r.Causes) - mostExplained; more > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d more were seen: the report lists them.", more))
	}
	for _, d := range r.Doubts {
		s.notes = append(s.notes, "Doubt: "+d+".")
	}
	return s
}
