package report

import (
	"errors"
	"fmt"
	"io"

	"windtunnel/analysis"
	"windtunnel/result"
)

// recovered is what each suspect of a ratio gives back, and which ones were not tried.
func recovered(f analysis.Findings) section {
	r := f.Recovered
	if r == nil {
		return section{}
	}
	s := section{heading: "What gives the gap " + r.Ratio.Ratio.Short() + " back"}
	for _, factor := range r.Factors {
		says, mood := givesBack(factor, r.Ratio.Ratio.Over)
		s.items = append(s.items, item{name: factor.Name, says: says, mood: mood})
	}
	for _, u := range r.Untested {
		s.items = append(s.items, item{name: u.Factor, says: "not tried: " + u.Reason, mood: unsure})
	}
	s.notes = append(s.notes, fmt.Sprintf("The gap: %s. Each factor was changed alone, in the same blocks, so that what they give back may add up to more or less than all of it; the bounds of these shares hold together in 95 %% of runs.", r.Ratio.Verdict))
	return s
}

// little is the share of a gap, in per cent, that nobody looks for: what is known to be less is nothing to speak of.
const little = 25

// givesBack is a factor's sentence, of the gap of a cell.
func givesBack(f analysis.Factor, over string) (string, mood) {
	if f.Shows != "" {
		return fmt.Sprintf("brings a gap out: %s is then %s: %s", over, f.Shows, f.Says), good
	}
	share, verb := f.Share, "recovers"
	if f.Both {
		verb = "accounts for"
	}
	if !share.Known() || share.Low == nil || share.High == nil {
		return fmt.Sprintf("not known (%s): %s", share.Reason, f.Says), unsure
	}
	mean, low, high := 100*share.Mean, 100**share.Low, 100**share.High
	switch {
	case !f.Distinct() && max(-low, high) > little:
		return fmt.Sprintf("undecided, %.0f %% [%.0f, %.0f] of the gap: %s", mean, low, high, f.Says), unsure
	case !f.Distinct():
		return fmt.Sprintf("nothing that can be told from none, %.0f to %.0f %% of the gap: %s", low, high, f.Says), unsure
	case mean < 0:
		return fmt.Sprintf("widens the gap by %.0f %% [%.0f, %.0f]: %s", -mean, -high, -low, f.Says), plain
	}
	says := fmt.Sprintf("%s %.0f %% [%.0f, %.0f] of the gap: %s", verb, mean, low, high, f.Says)
	if f.Hides != "" {
		return says + "; but " + f.Hides, unsure
	}
	return says, good
}

// Recovered writes what the suspects of a run's ratio give back, for a terminal: the gap, each factor, what was not tried,
// and what to doubt.
func Recovered(w io.Writer, f analysis.Findings, o Options) error {
	if f.Recovered == nil {
		return errors.New("the run tried no suspects: take `windtunnel explain SUITE B/A`")
	}
	gap := f.Recovered.Ratio
	d := document{title: gap.Ratio.Short() + ": " + sentence(f, gap)}
	d.sections = append(d.sections, recovered(f))
	doubts := section{heading: "Doubts"}
	for _, says := range gap.Doubts {
		doubts.items = append(doubts.items, item{name: gap.Ratio.Short(), says: says, mood: unsure})
	}
	for _, doubt := range f.Doubts {
		if about(f.Recovered, doubt) {
			doubts.items = append(doubts.items, item{name: doubt.Cell, says: doubt.Says, mood: unsure})
		}
	}
	if len(doubts.items) > 0 {
		d.sections = append(d.sections, doubts)
	}
	if err := documentText(w, d, o); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return nil
}

// about tells whether a doubt is the run's, or of one of the ratio's own cells. How the machine differs from a source's
// stands in the whole report.
func about(r *analysis.Recovered, d result.Doubt) bool {
	return d.Cell == "" && d.Kind != "machine" || d.Cell == r.Ratio.Ratio.Over || d.Cell == r.Ratio.Ratio.Under
}
