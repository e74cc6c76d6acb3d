package report

import (
	"fmt"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// answersHeading is that of the section which every report has.
const answersHeading = "In short"

// answers is the question's answer: a sentence a ratio.
func answers(f analysis.Findings) section {
	s := section{heading: answersHeading}
	for _, r := range f.Ratios {
		s.items = append(s.items, item{name: r.Ratio.Short(), says: sentence(f, r), mood: moodOf(r)})
	}
	if len(f.Ratios) == 0 {
		s.items = rates(f)
	}
	if len(f.Hypotheses) > 0 {
		s.notes = append(s.notes, tally(f.Hypotheses))
	}
	if says := f.Together(); says != "" {
		s.notes = append(s.notes, says)
	}
	if !f.Usable() {
		s.notes = append(s.notes, "No cell has two trials that count: nothing can be concluded.")
	}
	return s
}

// rates answer a suite that asks for no ratio.
func rates(f analysis.Findings) []item {
	var items []item
	for _, c := range f.Cells {
		if received := c.Figure(result.ReceivedRate); received.Known() {
			items = append(items, item{name: c.Spec.Name, says: fmt.Sprintf("%s: %s Mbit/s received", says(f, c.Spec.Name), megabits(received))})
		}
	}
	return items
}

// sentence is a ratio in words, beside the published one.
func sentence(f analysis.Findings, r analysis.Ratio) string {
	text := fmt.Sprintf("%s against %s: %s", says(f, r.Ratio.Over), says(f, r.Ratio.Under), r.Verdict)
	if r.Published != nil {
		text += " (published: " + r.PublishedVerdict + ")"
	}
	return text
}

// says is what a cell is called in a sentence.
func says(f analysis.Findings, name string) string {
	if c, ok := f.Cell(name); ok && c.Spec.Says != "" {
		return c.Spec.Says
	}
	return "cell " + name
}

func moodOf(r analysis.Ratio) mood {
	if r.Estimate.Differs() {
		return plain
	}
	return unsure
}

// tally counts the verdicts on the hypotheses.
func tally(all []analysis.Hypothesis) string {
	count := map[string]int{}
	for _, h := range all {
		count[verdicts[string(h.Verdict)]]++
	}
	var parts []string
	for _, v := range []string{"supported", "refuted", "undecided", "not measured here"} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return "Hypotheses: " + strings.Join(parts, ", ") + "."
}

// verdicts are the words for a judgement on this run's data.
var verdicts = map[string]string{
	"supported":    "supported",
	"refuted":      "refuted",
	"undecided":    "undecided",
	"not_measured": "not measured here",
}

// publishedVerdicts are the words for a judgement on the published figures.
var publishedVerdicts = map[string]string{
	"supported":    "supported",
	"refuted":      "refuted",
	"undecided":    "undecided",
	"not_measured": "not given",
}

var verdictMoods = map[string]mood{"supported": good, "refuted": bad, "undecided": unsure}

// causes is each ratio with what speaks for it, what explains most first; what speaks just so for a ratio of the same two
// cells in another metric is not said again.
func causes(f analysis.Findings) section {
	s := section{heading: "Why"}
	said := map[string]string{}
	for _, r := range f.Ratios {
		if !r.Estimate.Known() {
			continue
		}
		i := item{name: r.Ratio.Short(), says: r.Estimate.String()}
		if r.Published != nil {
			i.says += fmt.Sprintf("; published %.2f", *r.Published)
		}
		lines, key := causeLines(r), spokenFor(r)
		if of := said[key]; of != "" && len(lines) > 0 {
			lines = []line{{says: "as for " + of}}
		} else if len(lines) > 0 {
			said[key] = i.name
		}
		i.lines = append(lines, doubtLines(r)...)
		s.items = append(s.items, i)
	}
	return s
}

// spokenFor is one text for ratios of the same two cells that have the same causes, whatever their shares, or none and the
// same evidence.
func spokenFor(r analysis.Ratio) string {
	parts := []string{r.Ratio.Over, r.Ratio.Under}
	for _, c := range r.Causes {
		parts = append(parts, c.Factor, c.Says)
	}
	if len(r.Causes) == 0 {
		parts = append(parts, r.Evidence...)
	}
	return strings.Join(parts, "\n")
}

// causeLines are a ratio's causes; where none was found, what differs between its cells.
func causeLines(r analysis.Ratio) []line {
	var lines []line
	said := map[string]bool{}
	for n, c := range r.Causes {
		lines = append(lines, line{says: fmt.Sprintf("%s %s: %s (%s)", ordinal(n), c.Factor, c.Says, c.ShareWords())})
		if c.By != "" && c.Share.Known() {
			lines = append(lines, line{says: "reckoned by " + c.By, under: true})
		}
		if fresh := unsaid(c.Evidence, said); len(fresh) > 0 {
			lines = append(lines, line{says: strings.Join(fresh, "; "), under: true})
		}
	}
	if len(r.Causes) == 0 {
		for _, e := range r.Evidence {
			lines = append(lines, line{says: e})
		}
	}
	return lines
}

// ordinal is a cause's place among a ratio's; a number with a point would begin a list of its own in Markdown.
func ordinal(n int) string { return fmt.Sprintf("(%d)", n+1) }

func doubtLines(r analysis.Ratio) []line {
	var lines []line
	for _, d := range r.Doubts {
		lines = append(lines, line{says: "doubt: " + d, mood: unsure})
	}
	return lines
}

// hypotheses is each sentence with both verdicts.
func hypotheses(f analysis.Findings) section {
	s := section{heading: "Hypotheses"}
	for _, h := range f.Hypotheses {
		i := item{name: h.ID, says: h.Says}
		i.lines = append(i.lines, line{says: judged(h), mood: verdictMoods[string(h.Verdict)]})
		for _, e := range h.Evidence {
			i.lines = append(i.lines, line{says: e})
		}
		s.items = append(s.items, i)
	}
	return s
}

func judged(h analysis.Hypothesis) string {
	text := verdicts[string(h.Verdict)]
	if h.Reason != "" {
		text += " (" + h.Reason + ")"
	}
	return "this run: " + text + "; published figures: " + publishedVerdicts[string(h.Published)]
}

// doubts lists them, with the cells of one text together.
func doubts(f analysis.Findings) section { return doubtList(f.Doubts) }

func doubtList(all []result.Doubt) section {
	s := section{heading: "Doubts"}
	at := map[string]int{}
	for _, d := range all {
		i, again := at[d.Says]
		switch {
		case !again:
			at[d.Says] = len(s.items)
			s.items = append(s.items, item{name: d.Cell, says: d.Says, mood: unsure})
		case d.Cell != "" && s.items[i].name != "":
			s.items[i].name += ", " + d.Cell
		default:
			s.items[i].name = "" // of one cell and of the run: of the run
		}
	}
	return s
}
