package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestAReceiverThatPolls is always busy, and its sender is not.
func TestAReceiverThatPolls(t *testing.T) {
	polled := func(end result.PairEnd) result.PairEnd {
		end = arriving(end, 0, 0)
		end.Arrived.Polled = true
		return end
	}
	polls := result.Options{"poll": "busy"}
	if got := Judge(polls, packets(10, 1), polled(packets(10, 1))); got.Verdict != result.GeneratorLimited {
		t.Errorf("a full sender: %+v", got)
	}
	if got := Judge(polls, packets(10, 0.5), packets(10, 1)); got.Verdict != result.ReceiverLimited {
		t.Errorf("one that was asked to and did not: %+v", got)
	}
	if got := Judge(polls, packets(10, 0.5), polled(packets(10, 1))); got.Verdict != result.PathLimited || !strings.Contains(got.Says, "the receiver's poll") {
		t.Errorf("a sender that waits: %+v", got)
	}
	lossy := polled(packets(9, 1))
	lossy.Arrived.Expected, lossy.Arrived.Lost = lossy.Packets+1000, 1000
	if got := Judge(polls, packets(10, 0.5), lossy); got.Verdict != result.PathLimited {
		t.Errorf("losses: %+v", got)
	}
}

// TestAReceiverThatPollsAndFinds: what it asked in vain is no work, and the rest is.
func TestAReceiverThatPollsAndFinds(t *testing.T) {
	polled := func(vain float64) result.PairEnd { // of a window of 2 s
		end := arriving(packets(9, 1), 1000, 0)
		end.Arrived.Polled, end.Arrived.PollSeconds = true, vain
		return end
	}
	for _, c := range []struct {
		vain    float64
		threads int
		want    string
		says    string
	}{
		{0.02, 1, result.ReceiverLimited, "lost while the receiver's threads were busy 99 %"},
		{1.2, 1, result.PathLimited, "the receiver's 40 %"},
		{3, 1, result.PathLimited, "the receiver's 0 %"},     // a receiver that lies
		{0.02, 2, result.PathLimited, "the receiver's poll"}, // whose of the two is not told
	} {
		receiver := polled(c.vain)
		receiver.Threads = c.threads
		if got := Judge(nil, packets(10, 0.5), receiver); got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
			t.Errorf("%g s in vain, %d threads: %+v", c.vain, c.threads, got)
		}
	}
}
