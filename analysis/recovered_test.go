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

// TestWhatMadeTwoCellsAlikeIsNamed: at one ceiling they do not differ; with the ceiling taken away they do.
func TestWhatMadeTwoCellsAlikeIsNamed(t *testing.T) {
	gap := result.Ratio{Metric: result.ReceivedRate, Over: "B", Under: "A"}
	rates := map[string]float64{"A": 1e8, "B": 1e8, "A+rate": 8e8, "B+rate": 4e8, "A+mtu": 1e8, "B+mtu": 1.001e8}
	noisy := func(cell string, block int) uint64 {
		return uint64(rates[cell] * math.Exp(0.01*math.Sin(float64(7*block+len(cell)+int(cell[0])))))
	}
	file := run(8, func(tr *result.Trial) { tr.Pairs[0].Receiver.Bytes = noisy(tr.Cell, tr.Block) })
	for _, name := range []string{"A+rate", "B+rate", "A+mtu", "B+mtu"} {
		of, factor, _ := strings.Cut(name, "+")
		tried := file.Cells[0]
		tried.Name, tried.Intervention = name, &result.Intervention{Ratio: gap, Of: of, Factor: factor, Both: true, Says: "another " + factor + " in both"}
		file.Cells = append(file.Cells, tried)
		for block := 1; block <= 8; block++ {
			at := trial(name, block, 3)
			at.Pairs[0].Receiver.Bytes = noisy(name, block)
			file.Trials = append(file.Trials, at)
		}
	}
	file.Run.Why = &result.Why{Ratio: gap}
	r := Of(file).Recovered
	if r.Ratio.Estimate.Differs() || len(r.Factors) != 2 {
		t.Fatalf("%s, %+v", r.Ratio.Verdict, r.Factors)
	}
	first, second := r.Factors[0], r.Factors[1]
	if first.Name != "rate" || !strings.Contains(first.Shows, "slower") || first.Share.Known() {
		t.Errorf("%+v", first)
	}
	if second.Name != "mtu" || second.Shows != "" {
		t.Errorf("%+v", second)
	}
}
