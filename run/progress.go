package run

import (
	"time"

	"windtunnel/result"
	"windtunnel/stats"
)

// Progress is told what the run does, as it does it. Calls come one at a time.
type Progress interface {
	// Building says that a cell's testbed is being built.
	Building(cell string)
	// Trial says what came of a trial; left is the budget's rest.
	Trial(t result.Trial, blocksPlanned int, left time.Duration)
	// Ratio says what is known of a ratio by now.
	Ratio(r result.Ratio, e stats.Estimate)
	// Say is for all else that a person should know at once.
	Say(line string)
}
