package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"windtunnel/result"
)

// TestNoShareOfAGapThatTheReportDoesNotClaim: among many ratios its bounds hold none, though those of few claims would not.
func TestNoShareOfAGapThatTheReportDoesNotClaim(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		rate := 1e8
		if tr.Cell == "B" {
			rate *= math.Exp(-0.3 + 0.1*float64(1-2*(tr.Block%2)))
		}
		tr.Pairs[0].Receiver.Bytes = uint64(rate)
	})
	gap := result.Ratio{Metric: result.ReceivedRate, Over: "B", Under: "A"}
	tried := file.Cells[1]
	tried.Name, tried.Intervention = "B+gro", &result.Intervention{Ratio: gap, Of: "B", Factor: "gro", Says: "GRO on, as in A"}
	file.Cells = append(file.Cells, tried)
	for block := 1; block <= 6; block++ {
		at := trial("B+gro", block, 3)
		at.Pairs[0].Receiver.Bytes = 1e8
		file.Trials = append(file.Trials, at)
	}
	file.Run.Why = &result.Why{Ratio: gap}
	r := Of(file).Recovered
	if !r.Ratio.Estimate.Differs() || !r.Factors[0].Distinct() {
		t.Fatalf("of one ratio: %+v", r)
	}
	for i := range 30 {
		file.Run.Ratios = append(file.Run.Ratios, result.Ratio{Metric: result.CPUPercent(fmt.Sprint(i)), Over: "B", Under: "A"})
	}
	r = Of(file).Recovered
	if share := r.Factors[0].Share; r.Ratio.Estimate.Differs() || share.Known() || !strings.Contains(share.Reason, "not distinguishable from none") {
		t.Errorf("%s, and yet %+v", r.Ratio.Verdict, share)
	}
}
