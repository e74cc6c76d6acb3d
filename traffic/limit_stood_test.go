package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestAReceiverThatStoodStill: nothing is lost, and what came while it was stopped was read when the window was over.
func TestAReceiverThatStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		window, stood float64 // s; the sender's window is of 2
		lost          uint64  // of 20,000
		want          string
	}{
		"across the window's end":            {2.2, 0.2, 0, result.ReceiverLimited},
		"for less than its window is longer": {2.2, 0.05, 0, result.PathLimited},
		"within the window":                  {2, 0.5, 0, result.RateReached},
		"within it, and the path lost":       {2, 0.5, 2000, result.PathLimited},
		"not at all":                         {2.2, 0, 0, result.PathLimited},
	} {
		sender := offering(packets(10, 0.3), result.Offered{TargetPacketsPerSecond: 10e3})
		came := packets(10, 0.3)
		came.Packets, came.Bytes = came.Packets-c.lost, came.Bytes-100*c.lost
		receiver := arriving(came, c.lost, 0)
		receiver.WindowSeconds, receiver.Arrived.StoodSeconds = c.window, c.stood
		got := Judge(nil, sender, receiver)
		if got.Verdict != c.want || strings.Contains(got.Says, "stood still") != (c.want == result.ReceiverLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
