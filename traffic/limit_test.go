package traffic

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// bulk is a window of 2 s in which an end moved so many Mbit/s, its one thread
// being busy so much of the time.
func bulk(mbits, busy float64) result.PairEnd {
	return result.PairEnd{WindowSeconds: 2, Threads: 1, CPUSeconds: 2 * busy, Bytes: uint64(2 * mbits * 1e6 / 8)}
}

// packets is the same for packets of 100 bytes.
func packets(kpps, busy float64) result.PairEnd {
	end := bulk(kpps*100*8/1e3, busy)
	end.Packets = uint64(2 * kpps * 1e3)
	return end
}

func offering(end result.PairEnd, o result.Offered) result.PairEnd {
	end.Offered = &o
	return end
}

func arriving(end result.PairEnd, lost, socketDrops uint64) result.PairEnd {
	end.Arrived = &result.Arrived{Expected: end.Packets + lost, Lost: lost, SocketDrops: socketDrops}
	return end
}

func generated(end result.PairEnd) result.PairEnd {
	end.Generator, end.Frames = &result.Generator{Name: "testpmd"}, &result.Frames{}
	return end
}

func connected(end result.PairEnd, c result.Connection) result.PairEnd {
	end.Connections = []result.Connection{c}
	return end
}

// kept is a receiver that was kept from its CPU.
func kept(end result.PairEnd, w result.Wait) result.PairEnd {
	end.Waited = &w
	return end
}

func TestJudge(t *testing.T) {
	cases := []struct {
		name             string
		sender, receiver result.PairEnd
		want, says       string
	}{
		{"asked for 100 Mbit/s and got it", offering(bulk(99.5, 0.2), result.Offered{TargetBitsPerSecond: 100e6}), bulk(99.4, 0.2),
			result.RateReached, "99.40 Mbit/s of the 100.0 Mbit/s asked for"},
		{"asked for 10 kpps and got it, flat out", offering(packets(10, 1), result.Offered{TargetPacketsPerSecond: 10e3}), arriving(packets(10, 1), 0, 0),
			result.RateReached, "10000 packets/s of the 10000 packets/s"},
		{"one packet short at 5 a second", offering(result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 4, Bytes: 400},
			result.Offered{TargetPacketsPerSecond: 5}), result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 4, Bytes: 400}, result.RateReached, "asked for"},
		{"one packet where 0.4 are due", offering(result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 1, Bytes: 100},
			result.Offered{TargetPacketsPerSecond: 0.4}), result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 1, Bytes: 100}, "", "no verdict: at the rate asked for not one was due"},
		{"one packet of a bit/s", offering(result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 1, Bytes: 1400},
			result.Offered{TargetBitsPerSecond: 1}), result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: 1, Bytes: 1400}, "", "no verdict: at the rate asked for not one was due"},
		{"sent what was asked, but a tenth was lost", offering(packets(10, 0.5), result.Offered{TargetPacketsPerSecond: 10e3}), arriving(packets(9, 0.4), 2000, 0),
			result.PathLimited, "10 % of the packets were lost on the way"},
		{"lost in the receiving socket", packets(100, 1), arriving(packets(50, 1), 100e3, 99e3),
			result.ReceiverLimited, "socket's buffer overflowed and lost 50 %"},
		{"a few of many losses were the socket's", packets(100, 1), arriving(packets(50, 0.5), 100e3, 1e3),
			result.PathLimited, "50 % of the packets were lost on the way"},
		{"lost at a busy receiver", packets(100, 1), arriving(packets(50, 0.97), 100e3, 0),
			result.ReceiverLimited, "while the receiver's threads were busy 97 %"},
		{"busy as without a path", offering(packets(90, 0.99), result.Offered{CalibratedPerSecond: 100e3}), packets(90, 0.5),
			result.GeneratorLimited, "reached 90 % of what they reach without a path"},
		{"faster than calibrated", offering(packets(174, 0.99), result.Offered{CalibratedPerSecond: 100e3}), packets(174, 0.5),
			result.GeneratorLimited, "reached more than when they were calibrated"},
		{"busy with the path's work", offering(packets(30, 0.99), result.Offered{CalibratedPerSecond: 100e3}), packets(30, 0.5),
			result.PathLimited, "busy 99 % of the time, but with the path's work: they reached 30 %"},
		{"a stream is calibrated in bytes", offering(bulk(8000, 0.95), result.Offered{CalibratedPerSecond: 1.1e9}), bulk(8000, 0.5),
			result.GeneratorLimited, "91 % of what they reach"},
		{"fast but not busy", offering(packets(90, 0.5), result.Offered{CalibratedPerSecond: 100e3}), packets(90, 0.5),
			result.PathLimited, "neither end was at its limit"},
		{"busy, not calibrated", bulk(1000, 0.95), bulk(1000, 0.5), result.GeneratorLimited, "not calibrated"},
		{"the path's work had the CPU", offering(bulk(1000, 0.75), result.Offered{WaitSeconds: 0.5, PathSeconds: 0.4}), bulk(1000, 0.3),
			result.PathLimited, "packet threads had the sender's CPU for 20 %"},
		{"no CPU to run on", offering(bulk(1000, 0.7), result.Offered{WaitSeconds: 0.5}), bulk(1000, 0.3), result.GeneratorLimited, "no CPU for 25 %"},
		{"held up, and behind its rate", offering(packets(9.3, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 0.1}), packets(9.3, 0.1),
			result.GeneratorLimited, "fell 7 % short of the rate asked for while its threads could run and had no CPU for 5 %"},
		{"blocked, and behind its rate", offering(packets(5, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 0.1}), packets(5, 0.1),
			result.PathLimited, "neither end"},
		{"waited for a CPU, and had time to spare", offering(bulk(1000, 0.3), result.Offered{WaitSeconds: 0.5}), bulk(1000, 0.3), result.PathLimited, "had no CPU for 25 %"},
		{"the window was closed", connected(bulk(1000, 0.5), result.Connection{RwndLimitedSeconds: 1.5}), bulk(1000, 0.6), result.ReceiverLimited, "closed for 75 %"},
		{"the receiver was busier", bulk(1000, 0.92), bulk(1000, 0.99), result.ReceiverLimited, "busy 99 % of the time, the sender's 92 %"},
		{"the receiver had no CPU", bulk(1000, 0.6), kept(bulk(1000, 0.7), result.Wait{Seconds: 0.5}), result.ReceiverLimited, "receiver's threads could run and had no CPU for 25 %"},
		{"the receiver had no CPU, but the sender less", bulk(1000, 0.99), kept(bulk(1000, 0.7), result.Wait{Seconds: 0.5}), result.GeneratorLimited, "busy 99 %"},
		{"the path's work had the receiver's CPU", bulk(1000, 0.6), kept(bulk(1000, 0.7), result.Wait{Seconds: 0.5, PathSeconds: 0.4}), result.PathLimited, "neither end"},
		{"the receiver waited for a CPU, and had time to spare", bulk(1000, 0.3), kept(bulk(1000, 0.3), result.Wait{Seconds: 0.5}), result.PathLimited, "the receiver's could run and had no CPU for 25 %"},
		{"a small send buffer", connected(bulk(1000, 0.5), result.Connection{SndbufLimitedSeconds: 1.9}), bulk(1000, 0.6), result.GeneratorLimited, "sndbuf-limited"},
		{"a generator of others that its port cannot keep up with", generated(offering(packets(90, 1), result.Offered{Refused: 20e3, WaitSeconds: 1})), packets(90, 0.5),
			result.PathLimited, "the sender's port was full: it turned away 10 % of what the generator offered"},
		{"a generator of others that had no CPU while packets were lost", generated(offering(packets(90, 0.45), result.Offered{WaitSeconds: 1})), arriving(packets(80, 0.7), 10e3, 0),
			result.GeneratorLimited, "had no CPU for 50 % of the time"},
		{"a generator of others that its port keeps up with", generated(offering(packets(90, 1), result.Offered{})), packets(90, 0.5), result.GeneratorLimited, "busy 100 %"},
		{"sends were refused", offering(bulk(1000, 0.5), result.Offered{Refused: 7}), bulk(1000, 0.6), result.PathLimited, "turned 7 sends away"},
		{"nobody was busy", bulk(1000, 0.4), bulk(1000, 0.6), result.PathLimited, "the sender's threads were busy 40 % of the time, the receiver's 60 %"},
		{"nothing was sent", bulk(0, 0), bulk(0, 0), "", "no verdict: the sender sent nothing"},
		{"no window", result.PairEnd{}, bulk(1, 1), "", "no verdict: an end has no window"},
		{"next to no window", bulk(1, 1), result.PairEnd{Bytes: 1 << 40, WindowSeconds: 1e-300}, "", "no verdict: an end has no window"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(nil, c.sender, c.receiver)
			if got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
				t.Errorf("got %q (%s), want %q with %q", got.Verdict, got.Says, c.want, c.says)
			}
		})
	}
}

// TestTheMostThatIsLackingIsTheLimit: of what a sender that had no CPU never sent, and what of the rest was lost.
func TestTheMostThatIsLackingIsTheLimit(t *testing.T) {
	far := offering(packets(3.5, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 1.5})
	got := Judge(nil, far, arriving(packets(3.4, 0.15), 200, 200))
	if got.Verdict != result.GeneratorLimited || !strings.Contains(got.Says, "fell 65 % short of the rate asked for while its threads could run and had no CPU for 75 %") {
		t.Errorf("it sent little, of which little was lost: %+v", got)
	}
	near := offering(packets(9, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 0.2})
	got = Judge(nil, near, arriving(packets(6, 0.2), 6000, 0))
	if got.Verdict != result.PathLimited || !strings.Contains(got.Says, "33 % of the packets were lost on the way") {
		t.Errorf("it sent most, of which much was lost: %+v", got)
	}
}

// TestAWaitThatCostNothing: a sender without a CPU is behind its rate by that only if nothing else waits to leave, or to arrive.
func TestAWaitThatCostNothing(t *testing.T) {
	stream := offering(bulk(93, 0.2), result.Offered{TargetBitsPerSecond: 100e6, WaitSeconds: 0.2})
	datagrams := offering(packets(9, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 0.4})
	queued := func(seconds float64) result.PairEnd {
		end := arriving(packets(8.6, 0.1), 0, 0)
		end.Arrived.Backlog = seconds // growth in the window of 2 s
		return end
	}
	for name, c := range map[string]struct {
		sender, receiver result.PairEnd
		want             string
	}{
		"a connection that had nothing to send": {connected(stream, result.Connection{BusySeconds: 1.8, MinRTTSeconds: 1e-4}), bulk(93, 0.1), result.GeneratorLimited},
		"one that had enough":                   {connected(stream, result.Connection{BusySeconds: 1.99, MinRTTSeconds: 1e-4}), bulk(93, 0.1), result.PathLimited},
		"a path that queued":                    {datagrams, queued(0.15), result.PathLimited},
		"one that queued little":                {datagrams, queued(0.05), result.GeneratorLimited},
	} {
		if got := Judge(nil, c.sender, c.receiver); got.Verdict != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestJudgeBothWays takes the direction whose figure says the least of the path.
// TestALongMessageIsNoExcuse: a message that is as long as the window's whole traffic
// does not make every rate one that was kept.
func TestALongMessageIsNoExcuse(t *testing.T) {
	load := result.Options{"message": int64(128 << 10)}
	sender := offering(bulk(1, 0.1), result.Offered{TargetBitsPerSecond: 1e6})
	if limit := Judge(load, sender, bulk(0.035, 0.1)); limit.Verdict == result.RateReached {
		t.Errorf("%+v", limit)
	}
	if limit := Judge(load, sender, bulk(0.96, 0.1)); limit.Verdict != result.RateReached {
		t.Errorf("%+v", limit)
	}
}

// TestWholeBlocksAreDueOrNot: of a rate that is sent in whole blocks (iperf3's -b) as many leave in a window as are due in it, which is
// up to one less than the rate has; and those must arrive.
func TestWholeBlocksAreDueOrNot(t *testing.T) {
	load := result.Options{"message": int64(16 << 10), "together": int64(128 << 10)}
	sender := func(mbits float64) result.PairEnd {
		return offering(bulk(mbits, 0.1), result.Offered{TargetBitsPerSecond: 0.7e6})
	}
	for name, c := range map[string]struct {
		sent, came float64
		verdict    string
	}{
		"one was due":             {0.524, 0.524, result.RateReached},
		"two were":                {1.05, 1.05, result.RateReached},
		"one of two came":         {1.05, 0.524, result.PathLimited},
		"half of the one came":    {0.524, 0.262, result.PathLimited},
		"what is left in the end": {0.524, 0.500, result.RateReached},
		"none":                    {0.1, 0.1, result.PathLimited},
	} {
		if limit := Judge(load, sender(c.sent), bulk(c.came, 0.1)); limit.Verdict != c.verdict {
			t.Errorf("%s: %+v", name, limit)
		}
	}
}

// TestFewerWholeBlocksThanWereDue: a full path that carries 3.58 of 4 Mbit/s takes fewer of four streams' blocks than 9 of each, which
// are due in 10 s.
func TestFewerWholeBlocksThanWereDue(t *testing.T) {
	load := result.Options{"message": int64(128 << 10), "together": int64(4 * 128 << 10)}
	for mbits, verdict := range map[float64]string{3.58: result.PathLimited, 3.78: result.RateReached} {
		end := func() result.PairEnd {
			e := bulk(mbits, 0.1)
			e.Bytes, e.WindowSeconds = uint64(mbits*10e6/8), 10
			return e
		}
		if limit := Judge(load, offering(end(), result.Offered{TargetBitsPerSecond: 4e6}), end()); limit.Verdict != verdict {
			t.Errorf("%g Mbit/s: %+v", mbits, limit)
		}
	}
}

// TestABucketHandsOverItsBurstOnly: a stream's message that leaves in pieces excuses no more than these do.
func TestABucketHandsOverItsBurstOnly(t *testing.T) {
	load := result.Options{"message": int64(128 << 10)}
	sender := offering(bulk(5, 0.1), result.Offered{TargetBitsPerSecond: 5e6, Method: TokenBucket, BurstPackets: 5})
	if limit := Judge(load, sender, bulk(4.73, 0.1)); limit.Verdict != result.PathLimited {
		t.Errorf("%+v", limit)
	}
	if limit := Judge(load, sender, bulk(4.94, 0.1)); limit.Verdict != result.RateReached {
		t.Errorf("%+v", limit)
	}
}

// TestNobodyWaitsForMoreThanAllTheTime: a thread that waits for its first turn does so since before a short window.
func TestNobodyWaitsForMoreThanAllTheTime(t *testing.T) {
	sender := offering(bulk(100, 0.1), result.Offered{WaitSeconds: 500})
	receiver := bulk(100, 0.1)
	receiver.Waited = &result.Wait{Seconds: 500}
	for _, limit := range []result.Limit{Judge(nil, sender, bulk(100, 0.1)), Judge(nil, bulk(100, 0.1), receiver)} {
		if !strings.Contains(limit.Says, "had no CPU for 100 % of the time") {
			t.Errorf("%+v", limit)
		}
	}
}

// paced is a stream that was asked for 100 Mbit/s by a way of pacing, and had data under way for a part of its window of 2 s, while its
// thread waited for a CPU for another.
func paced(mbits float64, method string, underWay, wait float64) result.PairEnd {
	end := offering(bulk(mbits, 0.3), result.Offered{TargetBitsPerSecond: 100e6, Method: method, WaitSeconds: 2 * wait, BurstPackets: 1})
	return connected(end, result.Connection{BusySeconds: 2 * underWay, MinRTTSeconds: 1e-4})
}

// far is the same over a long way.
func far(end result.PairEnd) result.PairEnd {
	return connected(end, result.Connection{BusySeconds: end.Connections[0].BusySeconds, MinRTTSeconds: 0.1})
}

// TestAPacedStreamThatFallsShort: a bucket that its thread cannot keep leaves its connection without data, and the kernel's pacing
// lacks nothing as long as there is some, however long its thread waits for a CPU.
func TestAPacedStreamThatFallsShort(t *testing.T) {
	for name, c := range map[string]struct {
		sender  result.PairEnd
		verdict string
	}{
		"a bucket without a burst to catch up with":    {paced(44, TokenBucket, 0.4, 0), result.GeneratorLimited},
		"a bucket before a full path":                  {paced(44, TokenBucket, 1, 0), result.PathLimited},
		"a bucket that lacks a CPU, far from its peer": {far(paced(92, TokenBucket, 1, 0.06)), result.GeneratorLimited},
		"a bucket that lacks a CPU before a full path": {paced(92, TokenBucket, 1, 0.06), result.PathLimited},
		"the kernel before a full path":                {paced(94, "kernel-tcp", 1, 0.06), result.PathLimited},
		"the kernel, whose thread lacks a CPU":         {paced(94, "kernel-tcp", 0.94, 0.06), result.GeneratorLimited},
		"the kernel, where nothing is told of a path":  {offering(bulk(94, 0.3), result.Offered{TargetBitsPerSecond: 100e6, Method: "kernel-tcp", WaitSeconds: 0.12}), result.GeneratorLimited},
	} {
		if limit := Judge(nil, c.sender, bulk(float64(c.sender.Bytes)*8/2e6, 0.1)); limit.Verdict != c.verdict {
			t.Errorf("%s: %+v", name, limit)
		}
	}
}

// TestAPacedSenderThatWasNotThere: one that was suspended, say, fell short while there was room, and one before a path or a receiver
// that stood still for a while did not, however little it has under way when that does not.
func TestAPacedSenderThatWasNotThere(t *testing.T) {
	missed := func(end result.PairEnd, seconds float64) result.PairEnd {
		end.Offered.MissedSeconds = &seconds
		return end
	}
	held := func(end result.PairEnd, seconds float64) result.PairEnd {
		end.Offered.HeldSeconds = seconds
		return missed(end, 0.01)
	}
	datagrams := func() result.PairEnd {
		return offering(packets(7.7, 0.2), result.Offered{TargetPacketsPerSecond: 10e3})
	}
	crowded := offering(packets(7.7, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 1.5, PathSeconds: 1.5})
	came := arriving(packets(7.7, 0.1), 0, 0)
	kernel := offering(packets(7.7, 0.2), result.Offered{TargetPacketsPerSecond: 10e3, WaitSeconds: 0.4, PathSeconds: 0.4})
	queued := came
	queued.Arrived = &result.Arrived{Expected: 15400, Backlog: 0.6}
	const short = 0.4 // s of the window of 2
	for name, c := range map[string]struct {
		sender, receiver result.PairEnd
		verdict          string
	}{
		"a bucket whose link was down":                {held(paced(81, TokenBucket, 0.46, 0), short), bulk(81, 0.1), result.PathLimited},
		"the same, that also waits after each pause":  {held(paced(81, TokenBucket, 0.46, 0.19), short), bulk(81, 0.1), result.PathLimited},
		"a bucket that wakes too late":                {missed(paced(81, TokenBucket, 0.46, 0), short), bulk(81, 0.1), result.GeneratorLimited},
		"a bucket that has no time to sleep":          {missed(paced(81, TokenBucket, 0.46, 0.6), 0.01), bulk(81, 0.1), result.GeneratorLimited},
		"the kernel, whose thread was suspended":      {paced(77, "kernel-tcp", 0.78, 0), bulk(77, 0.1), result.GeneratorLimited},
		"datagrams of one that was suspended":         {missed(datagrams(), short), came, result.GeneratorLimited},
		"datagrams that were not taken":               {missed(datagrams(), 0.01), came, result.PathLimited},
		"datagrams of which nobody tells":             {datagrams(), came, result.PathLimited},
		"datagrams of a CPU that the path's work has": {missed(crowded, short), came, result.PathLimited},
		"the same, with time left":                    {missed(kernel, short), came, result.PathLimited},
		"a bucket that wakes late before a full path": {missed(paced(92, TokenBucket, 1, 0.06), 0.12), bulk(92, 0.1), result.PathLimited},
		"datagrams before a queue that grew":          {missed(datagrams(), short), queued, result.PathLimited},
	} {
		if limit := Judge(nil, c.sender, c.receiver); limit.Verdict != c.verdict {
			t.Errorf("%s: %+v", name, limit)
		}
	}
}

// TestWhatArrivedWasSent: a message that waits in the kernel is no part of what its sender has handed over.
func TestWhatArrivedWasSent(t *testing.T) {
	load := result.Options{"message": int64(16 << 20)}
	sender := offering(bulk(935, 0.1), result.Offered{TargetBitsPerSecond: 1e9, Method: "kernel-tcp"})
	if limit := Judge(load, sender, bulk(1000, 0.1)); limit.Verdict != result.RateReached {
		t.Errorf("%+v", limit)
	}
	if limit := Judge(load, sender, bulk(930, 0.1)); limit.Verdict == result.RateReached {
		t.Errorf("%+v", limit)
	}
}

// TestWhoHasNoThreadsIsNotIdle: what counts in the kernel, or is a program of others, has no threads that would be known.
func TestWhoHasNoThreadsIsNotIdle(t *testing.T) {
	bare := func(end result.PairEnd) result.PairEnd { end.Threads, end.CPUSeconds = 0, 0; return end }
	lossy := arriving(packets(9, 0.5), 2000, 0)
	closed := connected(bulk(900, 0.5), result.Connection{RwndLimitedSeconds: 1.4})
	for says, limit := range map[string]result.Limit{
		"the sender's threads were busy 50 % of the time, and of the receiver's nothing is known": Judge(nil, packets(10, 0.5), bare(lossy)),
		"the receiver's threads were busy 50 % of the time, and of the sender's nothing is known": Judge(nil, bare(packets(10, 0.5)), lossy),
		"on the way: nothing is known of their threads":                                           Judge(nil, bare(packets(10, 0.5)), bare(lossy)),
		"(rwnd-limited)": Judge(nil, closed, bare(bulk(900, 0.5))),
		"the receiver's threads were busy 95 % of the time": Judge(nil, bare(bulk(900, 0)), bulk(900, 0.95)),
	} {
		if !strings.HasSuffix(limit.Says, says) {
			t.Errorf("%q, want the end %q", limit.Says, says)
		}
	}
}

// TestWhatIsLostIsNotKept: of few packets, one that is lost is not one that is under way.
func TestWhatIsLostIsNotKept(t *testing.T) {
	end := func(n uint64) result.PairEnd {
		return result.PairEnd{WindowSeconds: 1, Threads: 1, Packets: n, Bytes: 100 * n}
	}
	sender := offering(end(5), result.Offered{TargetPacketsPerSecond: 5})
	if limit := Judge(nil, sender, arriving(end(4), 1, 0)); limit.Verdict == result.RateReached {
		t.Errorf("%+v", limit)
	}
	if limit := Judge(nil, sender, arriving(end(4), 0, 0)); limit.Verdict != result.RateReached {
		t.Errorf("one under way: %+v", limit)
	}
}

// TestOneFullThreadIsALimit: three flows on two threads leave one of them time, and the mean says nothing of the other.
func TestOneFullThreadIsALimit(t *testing.T) {
	uneven := func(end result.PairEnd) result.PairEnd {
		end.Threads, end.CPUSeconds, end.BusiestSeconds = 2, 1.5*end.WindowSeconds, end.WindowSeconds
		return end
	}
	got := Judge(nil, offering(uneven(packets(100, 0)), result.Offered{}), packets(100, 0.3))
	if got.Verdict != result.GeneratorLimited || !strings.Contains(got.Says, "busy 75 % of the time, the busiest of them 100 %") {
		t.Errorf("a sender's: %+v", got)
	}
	got = Judge(nil, offering(packets(100, 0.3), result.Offered{}), arriving(uneven(packets(80, 0)), 40e3, 0))
	if got.Verdict != result.ReceiverLimited || !strings.Contains(got.Says, "the busiest of them 100 %") {
		t.Errorf("a receiver's: %+v", got)
	}
}

func TestTheBusiestOfACrew(t *testing.T) {
	var before, after CrewTime
	for i, cpu := range []time.Duration{5, 7, 1} {
		before.Add(ThreadTime(cpu*time.Second, 0))
		after.Add(ThreadTime((cpu+time.Duration(i))*time.Second, 0))
	}
	if got := after.Since(before); got.Busiest() != 2*time.Second || got.CPU != 3*time.Second || got.Threads != 3 {
		t.Errorf("%+v", got)
	}
	if got := ThreadTime(time.Second, 0).Since(ThreadTime(0, 0)); got.Busiest() != 0 {
		t.Errorf("of one thread: %+v", got)
	}
}

// TestWhatACrewHad: of 300 ms, two threads waited for a CPU 400 in all.
func TestWhatACrewHad(t *testing.T) {
	const window = 300 * time.Millisecond
	if got := (CrewTime{Threads: 2, CPU: 180 * time.Millisecond, Wait: 400 * time.Millisecond}).Had(window); got != 100*time.Millisecond {
		t.Errorf("they had %s", got)
	}
	if got := (CrewTime{Threads: 1, CPU: 50 * time.Millisecond, Wait: 290 * time.Millisecond}).Had(window); got != 50*time.Millisecond {
		t.Errorf("of a wait that began before, %s", got)
	}
	if got := (CrewTime{}).Had(window); got != window {
		t.Errorf("of what is not told, %s", got)
	}
	if got, err := (CrewTime{Threads: 1, Wait: window}).OwnRate(1, window); err == nil {
		t.Errorf("of no time %g a second", got)
	}
}

func TestJudgeBothWays(t *testing.T) {
	sender, receiver := bulk(1000, 0.4), bulk(1000, 0.5)
	back, taken := bulk(900, 0.99), bulk(900, 0.3)
	sender.Opposite, receiver.Opposite = &taken, &back
	got := Judge(nil, sender, receiver)
	if got.Verdict != result.GeneratorLimited || !strings.Contains(got.Says, "forth: neither") || !strings.Contains(got.Says, "back: the sender's threads were busy 99 %") {
		t.Errorf("got %q (%s)", got.Verdict, got.Says)
	}
}

// TestJudgeFramesTurnedAway: a sender that keeps a rate by spinning is always busy, and what its interface did not take is the path's.
func TestJudgeFramesTurnedAway(t *testing.T) {
	for refused, want := range map[uint64]string{4000: result.PathLimited, 100: result.GeneratorLimited} {
		sender := offering(packets(8, 1), result.Offered{TargetPacketsPerSecond: 10e3, Refused: refused})
		sender.Frames = &result.Frames{}
		if got := Judge(nil, sender, arriving(packets(8, 0), 0, 0)); got.Verdict != want || want == result.PathLimited && !strings.Contains(got.Says, "turned 20 %") {
			t.Errorf("%d of 20000 frames refused, 16000 sent: %q (%s)", refused, got.Verdict, got.Says)
		}
	}
	starved := offering(packets(8, 0.7), result.Offered{TargetPacketsPerSecond: 10e3, Refused: 4000, WaitSeconds: 0.4})
	starved.Frames, starved.Cycles = &result.Frames{}, &result.Cycles{Hertz: 1e9} // at a port of poll mode
	if got := Judge(nil, starved, arriving(packets(8, 0), 0, 0)); got.Verdict != result.GeneratorLimited {
		t.Errorf("frames that were offered again, and sent: %q (%s)", got.Verdict, got.Says)
	}
}

// TestJudgeAWayThatWasGone: what could not be sent as the sender's link was down is the path's.
func TestJudgeAWayThatWasGone(t *testing.T) {
	for _, c := range []struct {
		target, away float64
		sent, busy   float64
		verdict      string
	}{
		{10e3, 0.3, 8.5, 0.1, result.PathLimited},
		{10e3, 0.01, 9.95, 0.1, result.RateReached},
		{10e3, 0.01, 8.5, 1, result.GeneratorLimited},
		{0, 0.6, 8, 1, result.PathLimited},
		{0, 0.06, 8, 1, result.GeneratorLimited},
	} {
		o := result.Offered{TargetPacketsPerSecond: c.target, AwaySeconds: c.away, AwayWhy: "network is down"}
		got := Judge(nil, offering(packets(c.sent, c.busy), o), arriving(packets(c.sent, 0), 0, 0))
		if told := strings.Contains(got.Says, "no way to the receiver for"); got.Verdict != c.verdict || told != (c.verdict == result.PathLimited) {
			t.Errorf("%+v: %q (%s)", c, got.Verdict, got.Says)
		}
	}
}

// TestJudgeSpinning takes no busy thread for a limit that always polls.
func TestJudgeSpinning(t *testing.T) {
	asks := bulk(10, 1)
	asks.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 1}}
	got := Judge(result.Options{"poll": "busy"}, asks, bulk(10, 1))
	if got.Verdict != result.PathLimited || !strings.Contains(got.Says, "always busy") {
		t.Errorf("got %q (%s)", got.Verdict, got.Says)
	}
}

// TestJudgeBackwards finds the sender where a load flows back only.
func TestJudgeBackwards(t *testing.T) {
	from, to := offering(bulk(1000, 0.99), result.Offered{}), bulk(1000, 0.2)
	swapped := Judge(nil, to, from) // the ends change roles
	here, there := result.PairEnd{WindowSeconds: 2, Opposite: &to}, result.PairEnd{WindowSeconds: 2, Opposite: &from}
	for name, got := range map[string]result.Limit{"roles": swapped, "opposites": Judge(nil, here, there)} {
		if got.Verdict != result.GeneratorLimited || !strings.Contains(got.Says, "the sender's threads were busy 99 %") {
			t.Errorf("%s: got %q (%s)", name, got.Verdict, got.Says)
		}
	}
}

// TestTheKernelSendsTwoSegmentsAtOnce: over loopback they are a megabit, by which a second of a rate may miss it.
func TestTheKernelSendsTwoSegmentsAtOnce(t *testing.T) {
	for mss, want := range map[int]string{65483: result.RateReached, 1448: result.PathLimited} {
		sender := offering(connected(bulk(29.5, 0.1), result.Connection{MSS: mss}), result.Offered{TargetBitsPerSecond: 30e6, Method: KernelTCP})
		if got := Judge(result.Options{"message": int64(8 << 10)}, sender, bulk(29.5, 0.1)); got.Verdict != want {
			t.Errorf("segments of %d bytes: %+v", mss, got)
		}
	}
}

// TestAStreamWhoseEndLacksItsCPU: the shares are of ends that a control group let run for a fifth of the time, and of a path of 50 Mbit/s
// between ends beside other programs.
func TestAStreamWhoseEndLacksItsCPU(t *testing.T) {
	for name, c := range map[string]struct {
		wait, receiverWait, underWay, closed float64
		want, says                           string
	}{
		"the sender's":       {0.80, 0.27, 0.60, 0, result.GeneratorLimited, "the sender's threads could run and had no CPU for 80 %"},
		"the receiver's":     {0.26, 0.67, 0.88, 0, result.ReceiverLimited, "the receiver's threads could run and had no CPU for 67 %"},
		"and its window":     {0.08, 0.70, 0.99, 0.26, result.ReceiverLimited, "nothing to carry for 27 %"},
		"before a full path": {0.55, 0.60, 0.97, 0, result.PathLimited, "neither end"},
		"with others a bit":  {0.26, 0.26, 0.82, 0, result.PathLimited, "neither end"},
	} {
		sender := offering(connected(bulk(900, 0.05), result.Connection{BusySeconds: 2 * c.underWay, RwndLimitedSeconds: 2 * c.closed}), result.Offered{WaitSeconds: 2 * c.wait})
		got := Judge(nil, sender, kept(bulk(900, 0.05), result.Wait{Seconds: 2 * c.receiverWait}))
		if got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
