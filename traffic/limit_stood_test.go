package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestAReceiverThatStoodStill: nothing is lost, and what came while it was stopped was read when the window was over.
func TestAReceiverThatStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		kpps, stood float64 // of 10; seconds of 2
		asked       bool
		want        string
	}{
		"across the window's end":           {9, 0.2, true, result.ReceiverLimited},
		"for less than it fell short by":    {9, 0.05, true, result.PathLimited},
		"within the window, and all came":   {10, 0.2, true, result.RateReached},
		"without a rate":                    {9, 0.3, false, result.ReceiverLimited},
		"without a rate, for a short while": {9, 0.1, false, result.PathLimited},
		"not at all":                        {9, 0, true, result.PathLimited},
	} {
		sender, receiver := packets(10, 0.3), arriving(packets(c.kpps, 0.3), 0, 0)
		receiver.Arrived.StoodSeconds = c.stood
		if c.asked {
			sender = offering(sender, result.Offered{TargetPacketsPerSecond: 10e3})
		}
		got := Judge(nil, sender, receiver)
		if got.Verdict != c.want || strings.Contains(got.Says, "stood still") != (c.want == result.ReceiverLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
