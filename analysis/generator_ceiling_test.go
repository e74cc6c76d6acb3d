package analysis

import (
	"testing"

	"windtunnel/result"
)

// TestAStarvedGeneratorIsNoCeiling: cells whose senders had no CPU are not at what these reach by themselves.
func TestAStarvedGeneratorIsNoCeiling(t *testing.T) {
	at := func(a, b uint64) int {
		file := run(6, func(tr *result.Trial) {
			p := &tr.Pairs[0]
			p.Receiver.Bytes = map[string]uint64{"A": a, "B": b}[tr.Cell] + uint64(tr.Block%3)
			p.Sender.Bytes = p.Receiver.Bytes
			p.Sender.Threads, p.Sender.CPUSeconds = 1, 0.5
			p.Sender.Offered = &result.Offered{WaitSeconds: 0.45, CalibratedPerSecond: 5e9}
			p.Limit = &result.Limit{Verdict: result.GeneratorLimited, Says: "the sender's threads could run and had no CPU for 45 % of the time"}
			sized(tr, 60_000, 1514, 30_000)
		})
		same := 0
		for _, c := range Of(file).Ceilings {
			if c.Ceiling.Kind == result.CeilingGenerator {
				same++
			}
		}
		return same
	}
	if n := at(500e6, 100e6); n != 0 {
		t.Errorf("%d ceilings of a generator at a tenth of its rate", n)
	}
	if n := at(4.9e9, 4.8e9); n == 0 {
		t.Error("cells at their generator's own rate have no ceiling")
	}
}
