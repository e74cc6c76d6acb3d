package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"windtunnel/measure"
)

// Section is what one command writes into RESULTS.md: it replaces the section of
// the same title and leaves the others.
type Section struct {
	Title       string
	Says        string // how it was measured
	Peers       string // the peers' versions
	Comparisons []*Comparison
	More        []Table
	Where       string // Markdown behind them: where the time goes; may be empty. Without comparisons: the section's figures
}

// Table is comparisons beside a section's own, with what they are about.
type Table struct {
	Says string
	Rows []*Comparison
}

// Costs are ratios without a goal: with a switch over without it.
func Costs(rows []*Comparison) Table { return Table{Says: "What each switch costs", Rows: rows} }

const head = `# Comparisons with peers
Written by ` + "`make bench`" + `. A ratio is ours over the peer's, over rounds of trials in turn; its interval stays
valid under a look after every round. Where there are several peers, the best of them counts: the one over which our
ratio is the worst. A goal holds when the whole interval reaches it, is missed when the whole interval falls short, and
is level else. A goal of 1.00 asks for parity: it holds when the interval reaches 1.00 and the median is at least 0.97
(of a cost: at most 1.03). What is not measured says why. What keeps ratios from their goals stands below a
section's tables in short, and in LEARNED.md with what was tried and the profiles, all by hand in single runs.
`

// method is said in each section, since sections are written at different times.
const method = "Ratios are the medians of the rounds' ratios, and their bounds two of these, whatever the noise."

func (s Section) text() string {
	var b strings.Builder
	if len(s.Comparisons)+len(s.more()) == 0 && s.Where != "" { // figures of its own
		fmt.Fprintf(&b, "## %s\n%s\n\n%s\n\n%s", s.Title, s.Says, environment(s.Peers), s.Where)
		return b.String()
	}
	fmt.Fprintf(&b, "## %s\n%s %s\n\n%s\n\n", s.Title, s.Says, method, environment(s.Peers))
	b.WriteString(table(s.Comparisons))
	for _, t := range s.More {
		if len(t.Rows) > 0 {
			fmt.Fprintf(&b, "\n%s:\n\n%s", t.Says, table(t.Rows))
		}
	}
	b.WriteString(s.limits())
	if s.Where != "" {
		b.WriteString("\n" + s.Where)
	}
	return b.String()
}

// table is rows in Markdown.
func table(rows []*Comparison) string {
	var b strings.Builder
	b.WriteString("| what | ratio | rounds | goal | verdict |\n|---|---|---|---|---|\n")
	for _, c := range rows {
		b.WriteString(c.Row() + "\n")
	}
	return b.String()
}

// more are the rows beside the section's own.
func (s Section) more() (rows []*Comparison) {
	for _, t := range s.More {
		rows = append(rows, t.Rows...)
	}
	return rows
}

// limits says of the ratios that fall short what keeps them there: those with the same reason together.
func (s Section) limits() string {
	var reasons []string
	of := map[string][]string{}
	for _, c := range slices.Concat(s.Comparisons, s.more()) {
		if c.Limit == "" || !c.short() || slices.Contains(of[c.Limit], c.What) {
			continue
		}
		if of[c.Limit] == nil {
			reasons = append(reasons, c.Limit)
		}
		of[c.Limit] = append(of[c.Limit], c.What)
	}
	var b strings.Builder
	for i, reason := range reasons {
		if i == 0 {
			b.WriteString("\nWhat keeps ratios from their goals:\n\n")
		}
		fmt.Fprintf(&b, "- **%s.** %s\n", strings.Join(of[reason], "; "), reason)
	}
	return b.String()
}

// environment says where: no date, so that a file changes when results do.
func environment(peers string) string {
	print := measure.ReadFingerprint()
	return fmt.Sprintf("Machine: Linux %s, %s x %s, %s; %s.", print["kernel.release"], print["cpu.count"], print["cpu.model"], print["tool.go"], peers)
}

// Processor is this machine's, with what tells its generation. Ratios to peers are not the same on all, so a section may be one of its own on each.
func Processor() string {
	print := measure.ReadFingerprint()
	if print["cpu.generation"] == "" {
		return print["cpu.model"]
	}
	return fmt.Sprintf("%s (%s)", print["cpu.model"], print["cpu.generation"])
}

// Write puts the section into the file, which may not exist yet.
func (s Section) Write(path string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the results: %w", err)
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(next, []byte(replaceSection(string(old), s.Title, s.text())), 0o644); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// replaceSection returns the file with one section changed or added at its end.
func replaceSection(file, title, text string) string {
	if file == "" {
		file = head
	}
	parts := strings.Split(file, "\n## ")
	parts[0] = head
	for i, part := range parts[1:] {
		if name, _, _ := strings.Cut(part, "\n"); name == title {
			parts[i+1] = strings.TrimPrefix(text, "## ")
			return strings.Join(parts, "\n## ")
		}
	}
	return strings.TrimSuffix(file, "\n") + "\n\n" + text
}
