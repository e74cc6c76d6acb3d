package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// A cell that reached the rate that its load was asked for is slower for that, and for nothing else: not for a full CPU, nor for what its
// sender waited.
func TestARateThatWasAskedForIsTheCause(t *testing.T) {
	of := func(verdict string) []Cause {
		file := run(6, func(tr *result.Trial) {
			p := &tr.Pairs[0]
			p.Sender.Packets, p.Receiver.Packets = p.Sender.Bytes/100, p.Receiver.Bytes/100
			sized(tr, 60_000, 1514, 30_000)
			if tr.Cell != "B" {
				return
			}
			busyAt(tr, "b", 0.99)
			sized(tr, 60_000, 614, 12_000)
			p.Sender.Threads, p.Sender.CPUSeconds = 1, 0.5
			p.Sender.Offered = &result.Offered{WaitSeconds: 0.45, TargetPacketsPerSecond: 500e3}
			p.Limit = &result.Limit{Verdict: verdict, Says: "500000 packets/s of the 500000 packets/s asked for arrived"}
		})
		return Of(file).Ratios[0].Causes
	}
	for i, c := range of(result.RateReached) {
		switch {
		case i == 0 && (c.Factor != "ceiling" || !strings.Contains(c.Says, "asked for") || !strings.Contains(c.Evidence[0], "500000 packets/s asked for")):
			t.Errorf("the first is %s, %s", c.Factor, c.Says)
		case c.Share.Known(), c.Factor == "generator", strings.Contains(strings.Join(c.Evidence, " "), "explains"):
			t.Errorf("%s: %s %s", c.Factor, c.Says, c.ShareWords())
		}
	}
	if first := of(result.PathLimited)[0]; !first.Share.Known() {
		t.Errorf("of the path's limit the first is %s, %s", first.Factor, first.ShareWords())
	}
}
