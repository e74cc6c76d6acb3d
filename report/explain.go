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
	out.hanging("", r.Ratio.Short()+": "+sentence(f, r), 2, "")
	out.section(explanation(f, r))
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
func explanation(f analysis.Findings, r analysis.Ratio) section {
	s := section{}
	if !r.Estimate.Known() {
		s.notes = unmeasured(f, r)
		return s
	}
	said, told := map[string]bool{}, r.Causes[:toldOf(r)]
	for n, c := range told {
		i := item{name: fmt.Sprintf("%d.", n+1), says: c.Says + " (" + c.ShareWords() + ")"}
		if fresh := unsaid(c.Evidence, said); len(fresh) > 0 {
			i.lines = append(i.lines, line{says: strings.Join(fresh, "; ")})
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
	switch more := len(r.Causes) - len(told); {
	case more == 1:
		s.notes = append(s.notes, "One more was seen: the report has it.")
	case more > 1:
		s.notes = append(s.notes, fmt.Sprintf("%d more were seen: the report lists them.", more))
	}
	for _, d := range r.Doubts {
		s.notes = append(s.notes, "Doubt: "+d+".")
	}
	return s
}

// toldOf is how many causes are told: beside those whose share is known, the others were only seen.
func toldOf(r analysis.Ratio) int {
	n := min(len(r.Causes), mostExplained)
	if n == 0 || !r.Causes[0].Share.Known() {
		return n
	}
	for i, c := range r.Causes[:n] {
		if !c.Share.Known() {
			return i
		}
	}
	return n
}

// unmeasured says why a ratio's cells have no figures.
func unmeasured(f analysis.Findings, r analysis.Ratio) []string {
	var all []string
	for _, name := range []string{r.Ratio.Over, r.Ratio.Under} {
		if c, ok := f.Cell(name); ok && c.Status != analysis.Measured && c.Reason != "" {
			all = append(all, "Cell "+name+": "+c.Reason+".")
		}
	}
	return all
}

// unsaid is the evidence that no cause before had, and notes it: what is full of work is so for all that fills it.
func unsaid(evidence []string, said map[string]bool) []string {
	var fresh []string
	for _, e := range evidence {
		if !said[e] {
			fresh = append(fresh, e)
		}
		said[e] = true
	}
	return fresh
}
