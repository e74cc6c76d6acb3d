package report

import (
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// limits says what bounded the traffic of which cells, in most of their trials.
func limits(f analysis.Findings) section {
	of := map[string][]string{}
	for _, c := range f.Cells {
		if verdict := c.Limited(); verdict != "" {
			of[verdict] = append(of[verdict], c.Spec.Name)
		}
	}
	s := section{heading: "What limited the traffic"}
	for _, l := range []struct {
		verdict, says string
		mood          mood
	}{
		{result.RateReached, "nothing: the rate asked for was reached in ", good},
		{result.PathLimited, "the path, in ", plain},
		{result.ReceiverLimited, "the receiver, in ", unsure},
		{result.GeneratorLimited, "the generator, and so not the path, in ", unsure},
	} {
		if cells := of[l.verdict]; len(cells) > 0 {
			s.items = append(s.items, item{says: l.says + strings.Join(cells, ", "), mood: l.mood})
		}
	}
	return s
}
