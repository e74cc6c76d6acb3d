package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/stats"
)

// rising gives every end of a trial intervals of 100 ms, with a short one at its end; in the first three of the window,
// and in the warm-up, `by` of the rate flows.
func rising(t *result.Trial, by float64) {
	end := &t.Pairs[0].Receiver
	end.Intervals = nil
	whole := uint64(0)
	for i := -2; i < 10; i++ {
		bytes := float64(10_000_000 + 50_000*((i+t.Block+10)%3))
		if i < 3 {
			bytes *= by
		}
		end.Intervals = append(end.Intervals, result.Interval{From: float64(i) / 10, To: float64(i+1) / 10, Bytes: uint64(bytes)})
		if i >= 0 {
			whole += uint64(bytes)
		}
	}
	end.Bytes, t.Pairs[0].Sender.Bytes = whole, whole
}

func TestWarmUpIsDoubted(t *testing.T) {
	f := Of(run(8, func(t *result.Trial) {
		if rising(t, 1); t.Cell == "B" {
			rising(t, 0.6)
		}
	}))
	if got := strings.Join(kinds(f.Doubts), ","); got != "B warm-up" {
		t.Fatalf("doubts %s", got)
	}
	says := f.Doubts[0].Says
	for _, part := range []string{"in the first 0.3 s of the window", "40.00 % lower [", "makes the whole's 12 % too low", "--window"} {
		if !strings.Contains(says, part) {
			t.Errorf("%q does not say %q", says, part)
		}
	}
}

func TestRatesOverTimeHaveToBeWhole(t *testing.T) {
	whole := trial("A", 1, 1)
	rising(&whole, 1)
	if rates, length := overTime(whole); len(rates) != 10 || length < 0.099 || length > 0.101 {
		t.Errorf("%v by %g s", rates, length)
	}
	untold := trial("A", 1, 1) // counted at the end only
	for i := range 10 {
		untold.Pairs[0].Receiver.Intervals = append(untold.Pairs[0].Receiver.Intervals, result.Interval{From: float64(i) / 10, To: float64(i+1) / 10})
	}
	pulled := trial("A", 1, 1)
	rising(&pulled, 1)
	node := pulled.Nodes["a"]
	node.Pulls = []result.Pull{{Device: "wire0"}}
	pulled.Nodes["a"] = node
	for name, c := range map[string]result.Trial{"untold": untold, "pulled": pulled, "none": trial("A", 1, 1)} {
		if rates, _ := overTime(c); rates != nil {
			t.Errorf("%s: %v", name, rates)
		}
	}
}

func TestOddBlocksAreNamed(t *testing.T) {
	f := Of(run(12, func(t *result.Trial) {
		if t.Cell == "B" && (t.Block == 4 || t.Block == 9) {
			t.Pairs[0].Receiver.Bytes /= 2
		}
	}))
	if got := strings.Join(f.Ratios[0].Doubts, "; "); !strings.Contains(got, "the ratios of blocks 4 (0.25), 9 (0.25) lie far from the others") {
		t.Errorf("doubts %q", got)
	}
}

func TestTogether(t *testing.T) {
	file := run(8, nil)
	if says := Of(file).Together(); !strings.Contains(says, "bounds of the true figure, right in 95 %") {
		t.Errorf("one ratio: %q", says)
	}
	if says := Of(run(2, nil)).Together(); says != "" {
		t.Errorf("no bounds: %q", says)
	}
	alone := Of(file).Ratios[0].Estimate
	file.Run.Hypotheses = []result.Hypothesis{{ID: "h", Holds: result.Predicate{All: []result.Comparison{{Ratio: result.Ratio{Metric: result.SenderCost, Over: "B", Under: "A"}}}}}}
	f := Of(file)
	if f.Family != stats.Family(2) || !strings.Contains(f.Together(), "2 ratios") || f.Ratios[0].Estimate.HalfWidth() <= alone.HalfWidth() {
		t.Errorf("%d, %q", f.Family, f.Together())
	}
}
