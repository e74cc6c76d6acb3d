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

// TestAStreamsEndThatStoodStill: the connection carries nothing while either end's program is stopped, which no thread was busy with, nor
// waited for a CPU.
func TestAStreamsEndThatStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		target, moved    float64    // Mbit/s
		sender, receiver [2]float64 // window, stood; s
		want             string
	}{
		"the receiver":                       {0, 700, [2]float64{2, 0}, [2]float64{2, 0.6}, result.ReceiverLimited},
		"the sender":                         {0, 700, [2]float64{2, 0.6}, [2]float64{2, 0}, result.GeneratorLimited},
		"the receiver, across the end":       {0, 700, [2]float64{2, 0}, [2]float64{2.1, 0.1}, result.ReceiverLimited},
		"the sender, across the end":         {0, 700, [2]float64{2.1, 0.1}, [2]float64{2, 0}, result.GeneratorLimited},
		"for a moment":                       {0, 700, [2]float64{2, 0.05}, [2]float64{2, 0.05}, result.PathLimited},
		"and the rate was kept":              {700, 700, [2]float64{2, 0.6}, [2]float64{2, 0.6}, result.RateReached},
		"the receiver, for half of a rate":   {700, 500, [2]float64{2, 0}, [2]float64{2, 0.6}, result.ReceiverLimited},
		"the sender, for half of a rate":     {700, 500, [2]float64{2, 0.6}, [2]float64{2, 0}, result.GeneratorLimited},
		"for less than the rate falls short": {700, 200, [2]float64{2, 0.2}, [2]float64{2, 0.2}, result.PathLimited},
	} {
		sender := offering(bulk(c.moved, 0.3), result.Offered{TargetBitsPerSecond: c.target * 1e6})
		receiver := bulk(c.moved, 0.3)
		sender.WindowSeconds, sender.StoodSeconds = c.sender[0], c.sender[1]
		receiver.WindowSeconds, receiver.StoodSeconds = c.receiver[0], c.receiver[1]
		got := Judge(nil, sender, receiver)
		if got.Verdict != c.want || strings.Contains(got.Says, "stood still") != (c.want == result.ReceiverLimited || c.want == result.GeneratorLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAReceiverThatStoodStillOverTheEnd counts for longer than anything was sent, whatever its buffer took meanwhile.
func TestAReceiverThatStoodStillOverTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		window, stood float64 // of the receiver, s; the sender's is of 2
		want          string
	}{
		"over the end":       {2.5, 1.5, result.ReceiverLimited},
		"amid the test":      {2, 1.5, result.PathLimited},
		"for little of that": {2.5, 0.2, result.PathLimited},
	} {
		sender := offering(connected(bulk(70, 0.05), result.Connection{BusySeconds: 2}), result.Offered{})
		receiver := bulk(70, 0.05)
		receiver.WindowSeconds, receiver.StoodSeconds = c.window, c.stood
		got := Judge(nil, sender, receiver)
		if got.Verdict != c.want || strings.Contains(got.Says, "stood still") != (c.want == result.ReceiverLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAReceiverThatDoesNotSayThatItStoodStill shows it by its window, while which was closed nothing moved; before a path that takes no more
// there is something under way also while it is open.
func TestAReceiverThatDoesNotSayThatItStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		underWay, closed float64 // s, of 2
		want             string
	}{
		"it stood still":                  {0.75, 0.6, result.ReceiverLimited},
		"for less than half of what came": {0.35, 0.2, result.PathLimited},
		"the path took no more":           {2, 0.6, result.PathLimited},
		"nor when it was open":            {1.6, 0.3, result.PathLimited},
	} {
		sender := offering(connected(bulk(70, 0.05), result.Connection{BusySeconds: c.underWay, RwndLimitedSeconds: c.closed}), result.Offered{TargetBitsPerSecond: 100e6, HeldSeconds: 0.55})
		got := Judge(nil, sender, bulk(70, 0.05))
		if got.Verdict != c.want || strings.Contains(got.Says, "closed for 30 %") != (c.want == result.ReceiverLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnEndOfRequestsThatStoodStill: of a closed loop each waits for the other, and of a rate those that were asked meanwhile are answered too
// late, or count as lost.
func TestAnEndOfRequestsThatStoodStill(t *testing.T) {
	for name, c := range map[string]struct {
		target           float64 // a second, for 2 s
		answered, lost   uint64
		sender, receiver float64 // stood, s
		window           float64 // the receiver's, s
		want             string
	}{
		"the receiver of a closed loop":      {0, 80000, 0, 0, 1, 2, result.ReceiverLimited},
		"the sender of a closed loop":        {0, 80000, 0, 1, 0, 2, result.GeneratorLimited},
		"both, as of one machine":            {0, 80000, 0, 1, 1, 2, result.ReceiverLimited},
		"for a moment":                       {0, 80000, 0, 0, 0.1, 2, result.PathLimited},
		"the receiver of a rate, at the end": {100, 139, 0, 0, 1.1, 2.6, result.ReceiverLimited},
		"and the rate was kept":              {100, 200, 0, 0, 0.5, 2, result.RateReached},
		"and what was asked then was lost":   {100, 120, 80, 0, 1, 2, result.ReceiverLimited},
		"and the path lost more":             {100, 40, 160, 0, 0.5, 2, result.PathLimited},
	} {
		sender := offering(packets(0, 0.3), result.Offered{TargetPacketsPerSecond: c.target})
		sender.Packets, sender.StoodSeconds = c.answered, c.sender
		sender.Arrived = &result.Arrived{Expected: c.answered + c.lost, Lost: c.lost, Within: &c.answered}
		sender.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: c.answered}}
		receiver := packets(0, 0.3)
		receiver.Packets, receiver.WindowSeconds, receiver.StoodSeconds = c.answered, c.window, c.receiver
		got := Judge(nil, sender, receiver)
		if got.Verdict != c.want || strings.Contains(got.Says, "stood still") != (c.want == result.ReceiverLimited || c.want == result.GeneratorLimited) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMoreThanWasSentIsNoRate: a stream's bytes, and a ping's answers, that waited before the window came count in it, and no rate of a
// path is above what was sent.
func TestMoreThanWasSentIsNoRate(t *testing.T) {
	for name, c := range map[string]struct {
		sent, received float64 // Mbit/s
		more           bool
	}{"as much": {20, 20, false}, "half as much again": {20, 30, true}, "a burst more": {20, 20.1, false}} {
		sender := offering(bulk(c.sent, 0.1), result.Offered{TargetBitsPerSecond: 20e6})
		got := Judge(nil, sender, bulk(c.received, 0.1))
		if got.Verdict != result.RateReached || strings.Contains(got.Says, "more than was sent") != c.more {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnEndThatStoodStillCostAPathNothing that had something to carry all the while, from the buffers of both ends.
func TestAnEndThatStoodStillCostAPathNothing(t *testing.T) {
	for name, c := range map[string]struct {
		target           float64    // Mbit/s
		underWay, closed float64    // s, of 2
		stood            [2]float64 // s: the sender, the receiver
		want             string
	}{
		"the sender":                        {0, 2, 0, [2]float64{0.6, 0}, result.PathLimited},
		"for what it was silent":            {0, 1.5, 0, [2]float64{0.6, 0}, result.GeneratorLimited},
		"the receiver":                      {0, 2, 0, [2]float64{0, 0.6}, result.PathLimited},
		"for what its window was closed":    {0, 2, 0.5, [2]float64{0, 0.6}, result.ReceiverLimited},
		"the sender of a rate":              {100, 2, 0, [2]float64{0.6, 0}, result.PathLimited},
		"for half of what the rate lacks":   {100, 1.6, 0, [2]float64{0.6, 0}, result.GeneratorLimited},
		"the receiver of a rate":            {100, 2, 0, [2]float64{0, 0.6}, result.PathLimited},
		"and its window, for half of those": {100, 2, 0.4, [2]float64{0, 0.6}, result.ReceiverLimited},
	} {
		sender := offering(connected(bulk(70, 0.05), result.Connection{BusySeconds: c.underWay, RwndLimitedSeconds: c.closed}), result.Offered{TargetBitsPerSecond: c.target * 1e6})
		receiver := bulk(70, 0.05)
		sender.StoodSeconds, receiver.StoodSeconds = c.stood[0], c.stood[1]
		if got := Judge(nil, sender, receiver); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
