package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// TestJudgeRequestsBehind: over TCP none is lost, and a sender that could do no more is one whatever waits.
func TestJudgeRequestsBehind(t *testing.T) {
	for cpu, want := range map[float64]string{0.2: result.PathLimited, 0.99: result.GeneratorLimited} {
		within := uint64(100)
		asks := offering(bulk(10, cpu), result.Offered{TargetPacketsPerSecond: 1000})
		asks.Arrived = &result.Arrived{Expected: 1900, Lost: 1900, Behind: 1900, Within: &within}
		asks.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 1900}}
		there := bulk(1, 0.1)
		there.Packets = within
		got := Judge(nil, asks, there)
		if got.Verdict != want || strings.Contains(got.Says, "lost") || cpu < 0.9 && !strings.Contains(got.Says, "behind by 1900 requests") {
			t.Errorf("busy %g: %q (%s)", cpu, got.Verdict, got.Says)
		}
	}
}

// TestJudgeRequestsThatNeverLeft: the window's all wait before a full socket, and those of before it had their answers in the window.
// Payload that also flows back makes no other load of it.
func TestJudgeRequestsThatNeverLeft(t *testing.T) {
	within := uint64(100)
	asks := offering(bulk(0, 0.2), result.Offered{TargetPacketsPerSecond: 1000, Unsent: 1900})
	asks.Arrived = &result.Arrived{Expected: 1900, Lost: 1900, Behind: 1900, Within: &within}
	asks.Latencies = map[string]result.Histogram{result.LatencyIntended: {Count: 1900}}
	there := bulk(1, 0.1)
	there.Packets = within
	for _, reads := range []bool{false, true} {
		if reads {
			back, from := bulk(1, 0.2), bulk(1, 0.1)
			asks.Opposite, there.Opposite = &back, &from
		}
		if got := Judge(nil, asks, there); got.Verdict != result.PathLimited || !strings.Contains(got.Says, "behind by 1900 requests") {
			t.Errorf("reads %v: %q (%s)", reads, got.Verdict, got.Says)
		}
	}
}

// TestJudgeRequestsAtRandom: of requests at random fewer than the mean may be due, and a rate is kept where all of those were answered.
func TestJudgeRequestsAtRandom(t *testing.T) {
	for _, c := range []struct {
		answered, refused, lost uint64
		want                    string
	}{{180, 0, 0, result.RateReached}, {180, 20, 0, result.PathLimited}, {180, 0, 20, result.PathLimited}, {220, 0, 0, result.RateReached}} {
		asks := offering(bulk(0.01, 0.1), result.Offered{TargetPacketsPerSecond: 100, Refused: c.refused})
		asks.Packets = c.answered
		asks.Arrived = &result.Arrived{Expected: c.answered + c.lost, Lost: c.lost, Within: &c.answered}
		asks.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: c.answered}}
		there := bulk(0.01, 0.1)
		there.Packets = c.answered
		if got := Judge(result.Options{"arrivals": "poisson"}, asks, there); got.Verdict != c.want {
			t.Errorf("%d answered, %d refused, %d lost: %q (%s)", c.answered, c.refused, c.lost, got.Verdict, got.Says)
		} else if more := c.answered > 200; strings.HasSuffix(got.Says, ": more requests were due at random") != more {
			t.Errorf("%d answered, of 200 on the mean: %s", c.answered, got.Says)
		}
	}
}

// TestAClosedLoopBesideAHog: what a thread waits for a CPU is part of each round trip, and the rest of it no other limit. The shares are
// of pings over loopback, one end's thread pinned beside two loops, and alone.
func TestAClosedLoopBesideAHog(t *testing.T) {
	asking := func(end result.PairEnd, wait float64) result.PairEnd {
		end = offering(end, result.Offered{WaitSeconds: 2 * wait})
		end.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 1}}
		return end
	}
	answering := func(end result.PairEnd, wait float64) result.PairEnd {
		return kept(end, result.Wait{Seconds: 2 * wait})
	}
	for name, c := range map[string]struct {
		sender, receiver result.PairEnd
		want, says       string
	}{
		"the sender beside it":   {asking(packets(20, 0.19), 0.42), answering(packets(20, 0.17), 0.33), result.GeneratorLimited, "no CPU for 42 %"},
		"the receiver beside it": {asking(packets(20, 0.19), 0.05), answering(packets(20, 0.17), 0.60), result.ReceiverLimited, "no CPU for 60 %"},
		"alone":                  {asking(packets(57, 0.41), 0.35), answering(packets(57, 0.39), 0.31), result.PathLimited, "neither end"},
		"a long way":             {asking(packets(1, 0.02), 0.12), answering(packets(1, 0.02), 0.12), result.PathLimited, "neither end"},
	} {
		if got := Judge(result.Options{}, c.sender, c.receiver); got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnAnswerThatIsLateWasAskedFor: all requests that were due left, a few answers came after their wait, and the sender had no CPU now
// and then.
func TestAnAnswerThatIsLateWasAskedFor(t *testing.T) {
	within := uint64(196)
	asks := offering(result.PairEnd{WindowSeconds: 2, Threads: 1, Packets: 185}, result.Offered{TargetPacketsPerSecond: 100, WaitSeconds: 0.18})
	asks.Arrived = &result.Arrived{Expected: 200, Late: 15, Within: &within}
	asks.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 200}}
	there := result.PairEnd{WindowSeconds: 2, Threads: 1, Packets: 196}
	if got := Judge(nil, asks, there); got.Verdict != result.PathLimited || strings.Contains(got.Says, "short") {
		t.Errorf("%+v", got)
	}
}

// TestRequestsWithoutAnAnswerAreNotSurelyLost: of a path that takes longer than they are waited for nothing is lost, and that "56 % of the packets
// were lost on the way" was said.
func TestRequestsWithoutAnAnswerAreNotSurelyLost(t *testing.T) {
	sender := offering(packets(0, 0.3), result.Offered{TargetPacketsPerSecond: 100})
	within := uint64(40)
	sender.Packets, sender.Arrived = 40, &result.Arrived{Expected: 200, Lost: 112, Late: 48, Within: &within}
	sender.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 88}}
	receiver := packets(0, 0.3)
	receiver.Packets = 88
	if got := Judge(nil, sender, receiver); got.Verdict != result.PathLimited || !strings.Contains(got.Says, "56 % of the requests had no answer") || strings.Contains(got.Says, "lost") {
		t.Errorf("%+v", got)
	}
}
