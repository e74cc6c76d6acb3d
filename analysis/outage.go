package analysis

import (
	"fmt"

	"windtunnel/result"
)

// Outage is how outages were measured in a cell whose cable is pulled: the figure itself is result.OutageTime.
type Outage struct {
	Trials            int     `json:"trials"`             // with a pull
	Hit               int     `json:"hit"`                // of them, whose flow was on the pulled link
	ResolutionSeconds float64 `json:"resolution_seconds"` // the coarsest of them; 0: none was hit
	PulledSeconds     float64 `json:"pulled_seconds"`     // the shortest
	Whole             int     `json:"whole"`              // of those hit, in which nothing came until the cable was back
}

// wholeOutage is from which share of the pull an outage may have been cut short by its end.
const wholeOutage = 0.95

func outage(trials []result.Trial) *Outage {
	var o Outage
	for _, t := range trials {
		if len(t.Pulled()) == 0 {
			continue
		}
		o.Trials++
		seconds, resolution, pulled, err := t.Outage()
		if err != nil {
			continue
		}
		o.ResolutionSeconds = max(o.ResolutionSeconds, resolution)
		if o.Hit == 0 || pulled < o.PulledSeconds {
			o.PulledSeconds = pulled
		}
		if o.Hit++; seconds >= wholeOutage*pulled {
			o.Whole++
		}
	}
	if o.Trials == 0 {
		return nil
	}
	return &o
}

// outageDoubts say where an outage ended with the pull, and not by another link.
func outageDoubts(c Cell) []result.Doubt {
	if c.Outage == nil || c.Outage.Whole == 0 {
		return nil
	}
	return []result.Doubt{{Cell: c.Spec.Name, Kind: "outage",
		Says: fmt.Sprintf("in %d of %d trials nothing came until the cable was back after %.0f ms: a longer --window leaves it out for longer", c.Outage.Whole, c.Outage.Hit, 1e3*c.Outage.PulledSeconds)}}
}
