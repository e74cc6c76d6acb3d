package oneoff

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"windtunnel/result"
)

// WriteSearch writes what was found as a person reads it: the answer, and then all that the
// draft of MLRsearch wants a report to have.
func WriteSearch(out io.Writer, config SearchConfig, s result.Search) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name, says string) { fmt.Fprintf(table, "  %s\t%s\n", name, says) }
	fmt.Fprintf(table, "the highest rate of %s to %s\n", config.Kind, config.Host)
	for i, r := range s.Found {
		line(s.Goals[i].Name(), r.RateWords(s.Unit))
		line("", limitWords(r.Limit))
		if words := r.KeptWords(s.Unit); words != "" {
			line("", words)
		}
	}
	for _, l := range s.Latencies {
		line("latency", l.Words(s.Unit))
	}
	for _, d := range s.Doubts {
		line("doubt", d.Kind+": "+d.Says)
	}
	line("search", s.Attributes())
	line("traffic", strings.Join(config.loadWords(), ", "))
	for i, r := range s.Found {
		line("goal", s.Goals[i].Attributes())
		line("", "relevant bounds "+r.Bounds(s.Unit))
		if r.ConditionalThroughput > 0 {
			line("", "conditional throughput "+result.FormatLoad(s.Unit, r.ConditionalThroughput))
		}
	}
	line("durations", s.Durations)
	if s.Error != "" {
		line("failed", clipLong(s.Error))
	}
	_ = table.Flush() // a string
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func (c SearchConfig) loadWords() []string {
	return Outcome{Kind: c.Kind, Load: c.Load}.loadWords()
}

// WriteSearchJSON writes the search as one object: a record of a result, and beside it what was searched with, and where.
func WriteSearchJSON(out io.Writer, config SearchConfig, s result.Search) error {
	s.Record = result.RecordSearch
	return writeLine(out, struct {
		What string         `json:"what"`
		Kind string         `json:"kind"`
		Host string         `json:"host"`
		Load result.Options `json:"load"`
		result.Search
	}{"search", config.Kind, config.Host, config.Load, s})
}
