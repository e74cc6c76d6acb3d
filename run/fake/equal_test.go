package fake_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/run/fake"
	"windtunnel/stats"
)

// shaped is a run of three cells, the wires of two of which have token buckets of 1 Gbit/s.
// breaks is after how many trials the second one's testbed does for good, 0 for never.
func shaped(budget time.Duration, breaks int) (*records, result.End, error) {
	m := fake.New(3, map[string]fake.Truth{"A": {BitsPerSecond: 0.99e9}, "B": {BitsPerSecond: 0.97e9, BreaksAfter: breaks, StaysBroken: true}, "C": {BitsPerSecond: 3e9}}, fake.Noise{Trial: 0.002})
	p := plan(1, budget, 0.0001, over, "A", "B", "C")
	for i := range p.Cells {
		p.Cells[i].Record.Load = result.Options{"streams": int64(1)}
	}
	for i := range p.Cells[:2] {
		p.Cells[i].Record.Wired = &result.WireSettings{BitsPerSecond: 1e9}
	}
	p.Loads = map[string][]result.Option{"stream": {{Name: "rate", Type: result.BitRate}}}
	out := &records{}
	end, err := conduct(m, p, out, silent{})
	return out, end, err
}

// TestEqualRate: cells at one ceiling are measured again after the blocks, below it, within the budget.
func TestEqualRate(t *testing.T) {
	out, end, err := shaped(60*time.Second, 0)
	if err != nil || end.Why != run.EndBudget || end.ElapsedSeconds > 60 || len(out.equal) != 2*stats.MinimumBlocks {
		t.Fatalf("%+v, %v, %d trials at an equal rate", end, err, len(out.equal))
	}
	seen := map[string]int{}
	for _, e := range out.equal {
		if e.Trial == nil || e.Trial.Cell != e.Cell || e.Ceiling.Kind != result.CeilingShaper || e.Ceiling.BitsPerSecond != 1e9 || e.Share != 0.8 || math.Abs(e.BitsPerSecond/0.776e9-1) > 0.01 {
			t.Fatalf("%+v", e)
		}
		received, err := e.Trial.Pairs[0].Receiver.Rate()
		if err != nil || math.Abs(received/e.BitsPerSecond-1) > 0.01 {
			t.Errorf("%s received %g of %g: %v", e.Cell, received, e.BitsPerSecond, err)
		}
		seen[e.Cell] = max(seen[e.Cell], e.Trial.Block)
	}
	if len(seen) != 2 || seen["A"] != stats.MinimumBlocks || seen["B"] != stats.MinimumBlocks {
		t.Errorf("blocks %v", seen)
	}
}

// TestEqualRateIsLeftOut: where a quarter of the budget does not hold it, each cell says so.
func TestEqualRateIsLeftOut(t *testing.T) {
	out, _, err := shaped(25*time.Second, 0)
	if err != nil || len(out.equal) != 2 || out.equal[0].Trial != nil || !strings.Contains(out.equal[0].Reason, "the budget ended") {
		t.Errorf("%v, %+v", err, out.equal)
	}
}

// TestEqualRateEndsWithTheBudget: trials of a cell that broke in between are not tried again and again beyond it.
func TestEqualRateEndsWithTheBudget(t *testing.T) {
	whole, _, err := shaped(60*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	trials := len(result.ByCell(whole.trials)["B"])
	out, end, err := shaped(60*time.Second, trials+2)
	if err != nil || end.ElapsedSeconds > 60 {
		t.Errorf("%+v, %v", end, err)
	}
	counted, reasons := map[string]int{}, map[string]int{}
	for _, e := range out.equal {
		if e.Trial != nil {
			counted[e.Cell]++
		} else {
			reasons[e.Cell]++
		}
	}
	if counted["A"] != stats.MinimumBlocks || counted["B"] == 0 || reasons["B"] != 1 || reasons["A"] != 0 {
		t.Errorf("counted %v, failed %v", counted, reasons)
	}
}

// filled is a run of three cells, two of which fill the receiver's CPU at rates of their own.
func filled(budget time.Duration, precision float64) (*records, result.End, error) {
	m := fake.New(3, map[string]fake.Truth{"A": {BitsPerSecond: 9e9, ReceiverBusy: 0.98}, "B": {BitsPerSecond: 6e9, ReceiverBusy: 0.97}, "C": {BitsPerSecond: 3e9}}, fake.Noise{Trial: 0.002})
	p := plan(1, budget, precision, over, "A", "B", "C")
	for i := range p.Cells {
		p.Cells[i].Record.Load = result.Options{"streams": int64(1)}
	}
	p.Loads = map[string][]result.Option{"stream": {{Name: "rate", Type: result.BitRate}}}
	out := &records{}
	end, err := conduct(m, p, out, silent{})
	return out, end, err
}

// TestEqualRateBelowAFullCPU: cells that fill one CPU are measured at a rate below the slower one's, where blocks leave the time, and
// where they leave none, no block is given up for it.
func TestEqualRateBelowAFullCPU(t *testing.T) {
	out, end, err := filled(5*time.Minute, 0.05)
	if err != nil || end.Why != run.EndPrecision || len(out.equal) != 2*stats.MinimumBlocks {
		t.Fatalf("%+v, %v, %d trials at an equal rate", end, err, len(out.equal))
	}
	for _, e := range out.equal {
		if e.Trial == nil || e.Cell == "C" || e.Ceiling.Kind != result.CeilingCPU || e.Ceiling.Node != "b" || math.Abs(e.BitsPerSecond/4.8e9-1) > 0.01 {
			t.Fatalf("%+v", e)
		}
	}
	out, end, err = filled(60*time.Second, 0.0001)
	if err != nil || end.Why != run.EndBudget || len(out.equal) != 2 || !strings.Contains(out.equal[0].Reason, "the budget ended") {
		t.Fatalf("%+v, %v, %+v", end, err, out.equal)
	}
	none, _, err := shaped(60*time.Second, 0) // as many blocks as without anything to come after them, or more than with it
	if err != nil || len(out.trials) <= len(none.trials) {
		t.Errorf("%d trials, %d where time is kept: %v", len(out.trials), len(none.trials), err)
	}
	out, _, err = filled(32*time.Second, 0.05)
	if err != nil || len(out.equal) != 2 || !strings.Contains(out.equal[0].Reason, "more than a quarter of the budget") {
		t.Errorf("%v, %+v", err, out.equal)
	}
}
