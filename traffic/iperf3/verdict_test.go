package iperf3

import (
	"errors"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// ended is a client's test of two seconds in one direction, or both: what this end's threads did, and what the other
// end's process.
type ended struct {
	test          Test
	send, receive traffic.CrewTime
	peerCPU       float64 // per cent
	sent, got     uint64  // bytes of a stream
	lost          int64   // datagrams of a stream, as the receiver tells
	busy, rwnd    time.Duration
	mute          bool    // the other end's figures are missing
	whole         bool    // what comes back loses none
	seconds       float64 // of the receiver's time; 0: two, as the sender's
	away          time.Duration
	stood, stands time.Duration // for how long this end stood still, and the other one
	missed, held  time.Duration // of the rate
	own           *ownResult    // what the other end tells, if it is one of ours
	untaken       stall         // of what this end sends,
	silent        stall         // and of what it receives
	again         int64         // retransmits that the sender tells
	unacked       uint64        // of what this end sent
	serves        bool          // it is the server's end
}

func (c ended) limit() result.Limit {
	c.test.Length = 1000
	base, now := reading{at: time.Unix(0, 0), away: time.Second}, reading{at: time.Unix(2, 0), send: c.send, receive: c.receive, away: time.Second + c.away, awayWhy: errors.New("network is down")}
	t := &tally{test: c.test, untaken: c.untaken, silent: c.silent}
	if c.seconds == 0 {
		c.seconds = 2
	}
	now.missed, now.held = c.missed, c.held
	e := End{Remote: CPU{Total: c.peerCPU}, Stood: c.stood, RemoteStood: c.stands}
	for i := range c.test.Parallel {
		for _, sends := range []bool{true, false} {
			if !c.test.Bidirectional && (sends == c.test.Reverse) != (c.serves && c.test.Reverse) {
				continue
			}
			t.streams = append(t.streams, &dataStream{id: i, sender: sends})
			base.streams, now.streams = append(base.streams, counts{}), append(now.streams, counts{tcp: &tcpCounts{busy: c.busy, rwnd: c.rwnd, minRTT: 100 * time.Microsecond}})
			s := StreamEnd{Sender: sends, Sent: Sum{Seconds: 2, Bytes: c.sent, Retransmits: c.again}, Received: Sum{Seconds: c.seconds, Bytes: c.got}}
			if c.test.Protocol == UDP {
				s.UDP = &UDPEnd{SentPackets: int64(c.sent / 1000), ReceivedPackets: int64(c.sent / 1000), Lost: c.lost}
				if !sends && c.whole {
					s.UDP.True = &Arrivals{Received: c.got / 1000}
				} else if !sends {
					s.UDP.True = &Arrivals{Received: c.got / 1000, Lost: uint64(c.lost), SocketDrops: uint64(c.lost)}
				}
			}
			e.Streams = append(e.Streams, s)
		}
	}
	t.base = base
	if c.test.Protocol != UDP {
		t.acked = acked{now.at, c.sent*uint64(c.test.Parallel) - c.unacked}
	}
	if c.stands > 0 { // which one of ours tells alone
		threads := threadResult{Threads: 1, CPU: c.peerCPU / 100 * 2}
		c.own = &ownResult{Stood: c.stands.Seconds(), Send: threads, Receive: threads}
	}
	peer := &results{Own: c.own}
	if c.mute {
		peer = nil
	}
	return t.limit(e, now, peer)
}

// TestLimit: what bounded a test, by what its two ends tell.
func TestLimit(t *testing.T) {
	spent := func(threads int, cpu time.Duration) traffic.CrewTime {
		return traffic.CrewTime{Threads: threads, CPU: cpu}
	}
	const much = 1e9
	one, four, both := Test{Parallel: 1}, Test{Parallel: 4}, Test{Parallel: 1, Bidirectional: true}
	back := Test{Parallel: 1, Reverse: true}
	udp, udpBack := Test{Protocol: UDP, Parallel: 1}, Test{Protocol: UDP, Parallel: 1, Reverse: true}
	udpBoth := Test{Protocol: UDP, Parallel: 1, Bidirectional: true}
	paced := Test{Protocol: UDP, Parallel: 2, BitsPerSecond: 1e6}
	pacedUDP := Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 1e6}
	pacedTCP, waited := Test{Parallel: 1, BitsPerSecond: 1e6}, traffic.CrewTime{Threads: 1, CPU: time.Millisecond, Wait: 300 * time.Millisecond}
	for name, c := range map[string]struct {
		ended
		verdict, says string
	}{
		"the path":                   {ended{test: one, send: spent(1, time.Second), peerCPU: 60, sent: much, got: much}, result.PathLimited, "neither end"},
		"this end sends all it can":  {ended{test: one, send: spent(1, 1950*time.Millisecond), peerCPU: 60, sent: much, got: much}, result.GeneratorLimited, "not calibrated"},
		"the other end is full":      {ended{test: one, send: spent(1, time.Second), peerCPU: 97, sent: much, got: much}, result.ReceiverLimited, "97 %"},
		"its window is closed":       {ended{test: one, send: spent(1, time.Second), peerCPU: 20, sent: much, got: much, rwnd: 1500 * time.Millisecond}, result.ReceiverLimited, "75 %"},
		"threads nobody tells":       {ended{test: four, send: spent(2, time.Second), peerCPU: 120, sent: much, got: much}, "", "1.20 CPUs"},
		"threads make no difference": {ended{test: four, send: spent(2, time.Second), peerCPU: 50, sent: much, got: much}, result.PathLimited, "neither end"},
		"back, by the other end":     {ended{test: back, receive: spent(1, time.Second), peerCPU: 98, sent: much, got: much}, result.GeneratorLimited, "98 %"},
		"back, by this end":          {ended{test: back, receive: spent(1, 1900*time.Millisecond), peerCPU: 70, sent: much, got: much}, result.ReceiverLimited, "95 %"},
		"both ways":                  {ended{test: both, send: spent(1, time.Second), receive: spent(1, 1900*time.Millisecond), peerCPU: 70, sent: much, got: much}, result.ReceiverLimited, "back: the receiver's"},
		"datagrams lost":             {ended{test: udp, send: spent(1, time.Second), peerCPU: 60, sent: 1e6, got: 9e5, lost: 100}, "", "found no room"},
		"the other end's, too":       {ended{test: udp, send: spent(1, 1950*time.Millisecond), peerCPU: 97, sent: 1e6, got: 9e5, lost: 100}, result.ReceiverLimited, "busy 97 %"},
		"no room at this end":        {ended{test: udpBack, receive: spent(1, time.Second), peerCPU: 60, sent: 1e6, got: 9e5, lost: 100}, result.ReceiverLimited, "buffer overflowed"},
		"lost both ways":             {ended{test: udpBoth, send: spent(1, time.Second), peerCPU: 60, sent: 1e6, got: 9e5, lost: 100}, result.ReceiverLimited, "forth: no verdict: the other end does not tell whether the datagrams that were lost came to its socket, and found no room there; back: the receiving socket's buffer overflowed"},
		"lost forth":                 {ended{test: udpBoth, send: spent(1, time.Second), peerCPU: 60, sent: 1e6, got: 9e5, lost: 100, whole: true}, "", "found no room there; back: neither end"},
		"unknown of both ways":       {ended{test: both, send: spent(1, time.Second), receive: spent(1, time.Second), peerCPU: 120, sent: much, got: much}, "", "no verdict: the other end used 1.20 CPUs, and does not tell whether by one thread or by 2"},
		"the rate":                   {ended{test: paced, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3}, result.RateReached, "2.000 Mbit/s"},
		"a burst less":               {ended{test: Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 3e6, Burst: 250, Omit: 1}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 500e3, got: 500e3}, result.RateReached, "2.000 Mbit/s of the 3.000 Mbit/s asked for arrived: no more whole"},
		"of bursts, some are lost":   {ended{test: Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 3e6, Burst: 250, Omit: 1}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 500e3, got: 450e3, lost: 50}, "", "found no room"},
		"from its first block on":    {ended{test: Test{Parallel: 4, BitsPerSecond: 6e3}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 1000, got: 1000}, result.PathLimited, "neither end"},
		"a block less each":          {ended{test: Test{Parallel: 4, BitsPerSecond: 6e3, Omit: 1}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 1000, got: 1000}, result.RateReached, "0.016 Mbit/s"},
		"the last block alone":       {ended{test: Test{Parallel: 4, BitsPerSecond: 2e3, Blocks: 1}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250, got: 250}, result.RateReached, "0.004 Mbit/s of the 0.008 Mbit/s asked for arrived: no more whole"},
		"the last burst's rest":      {ended{test: Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 480e3, Burst: 30, Bytes: 91e3}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 91e3, got: 91e3}, result.RateReached, "0.364 Mbit/s of the 0.480 Mbit/s"},
		"a burst too late":           {ended{test: Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 480e3, Burst: 30, Bytes: 90e3}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 90e3, got: 90e3}, result.PathLimited, "neither end"},
		"nor at the omission's end":  {ended{test: Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 480e3, Burst: 30, Bytes: 90e3, Omit: 1}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 90e3, got: 90e3}, result.RateReached, "0.360 Mbit/s"},
		"over at once":               {ended{test: paced, send: spent(1, time.Millisecond), peerCPU: 1, sent: 1000, got: 1000, seconds: 20e-6}, "", "no verdict: the test took 0.02 ms, which is too short for one"},
		"no CPU, and all was sent":   {ended{test: pacedTCP, send: waited, peerCPU: 1, sent: 225e3, got: 225e3}, result.GeneratorLimited, "fell 10 % short"},
		"no CPU, and the path full":  {ended{test: pacedTCP, send: waited, peerCPU: 1, sent: 225e3, got: 225e3, busy: 2 * time.Second}, result.PathLimited, "neither end"},
		"the kernel's rate":          {ended{test: Test{Parallel: 2, FQRate: 1e6}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 300e3, got: 250e3}, result.RateReached, "2.000 Mbit/s of the 2.000 Mbit/s"},
		"the kernel's is lower":      {ended{test: Test{Parallel: 1, FQRate: 1e6, BitsPerSecond: 2e6}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3}, result.RateReached, "of the 1.000 Mbit/s"},
		"the kernel's is higher":     {ended{test: Test{Parallel: 1, FQRate: 3e6, BitsPerSecond: 2e6}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 500e3, got: 500e3}, result.RateReached, "of the 2.000 Mbit/s"},
		"less than the kernel's":     {ended{test: Test{Parallel: 1, FQRate: 1e6}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 200e3, got: 200e3}, result.PathLimited, "neither end"},
		"nobody keeps the kernel's":  {ended{test: Test{Parallel: 1, FQRate: 1e6, Reverse: true}, receive: spent(1, time.Millisecond), peerCPU: 1, sent: much, got: much}, result.PathLimited, "neither end"},
		"nor that of datagrams":      {ended{test: Test{Protocol: UDP, Parallel: 1, FQRate: 1e6}, send: spent(1, 1950*time.Millisecond), peerCPU: 1, sent: much, got: 250e3}, result.GeneratorLimited, "not calibrated"},
		"fq keeps it of datagrams":   {ended{test: Test{Protocol: UDP, Parallel: 1, FQRate: 1e6}, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3}, result.RateReached, "1.000 Mbit/s"},
		"no way for a while":         {ended{test: pacedUDP, send: waited, peerCPU: 1, sent: 150e3, got: 150e3, away: 800 * time.Millisecond}, result.PathLimited, "no way to the receiver for 40 % of the time: network is down"},
		"the other end ended late":   {ended{test: pacedUDP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3, seconds: 2.06}, "", "counted for 2.06 s, this one sent for 2, and"},
		"and lost some":              {ended{test: pacedTCP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 240e3, unacked: 10e3, seconds: 2.06}, result.PathLimited, "neither end"},
		"cut short":                  {ended{test: one, send: spent(1, time.Second), sent: much, mute: true}, "", "figures are missing"},
	} {
		if got := c.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}

// TestLimitOfAnEndThatDidNotMove: it could not run, or had nothing to send.
func TestLimitOfAnEndThatDidNotMove(t *testing.T) {
	spent := func(threads int, cpu time.Duration) traffic.CrewTime {
		return traffic.CrewTime{Threads: threads, CPU: cpu}
	}
	const much = 1e9
	one, back := Test{Parallel: 1}, Test{Parallel: 1, Reverse: true}
	pacedUDP, pacedTCP := Test{Protocol: UDP, Parallel: 1, BitsPerSecond: 1e6}, Test{Parallel: 1, BitsPerSecond: 1e6}
	for name, c := range map[string]struct {
		ended
		verdict, says string
	}{
		"this end, which sends, stood still":      {ended{test: one, send: spent(1, time.Second), peerCPU: 60, sent: much, got: much, stood: 600 * time.Millisecond}, result.GeneratorLimited, "sender's threads stood still for 30 %"},
		"the other end, which receives, did":      {ended{test: one, send: spent(1, time.Second), peerCPU: 60, sent: much, got: much, stands: 600 * time.Millisecond}, result.ReceiverLimited, "receiver's threads stood still for 30 %"},
		"this end, which receives, did":           {ended{test: back, receive: spent(1, time.Second), peerCPU: 60, sent: much, got: much, stood: 600 * time.Millisecond}, "", "this end stood still for 30 % of the time, and the other one does not tell whether it had something to send meanwhile"},
		"this end did, across its end":            {ended{test: Test{Parallel: 1, BitsPerSecond: 1e6, Reverse: true}, receive: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3, stood: 600 * time.Millisecond}, result.RateReached, "1.000 Mbit/s"},
		"the other end, which sends, did":         {ended{test: back, receive: spent(1, time.Second), peerCPU: 60, sent: much, got: much, stands: 600 * time.Millisecond}, result.GeneratorLimited, "sender's threads stood still"},
		"more than all the time":                  {ended{test: back, receive: spent(1, time.Second), peerCPU: 60, sent: much, got: much, stands: time.Hour}, result.GeneratorLimited, "stood still for 100 %"},
		"it did, and the rate was kept":           {ended{test: pacedTCP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3, stood: 600 * time.Millisecond}, result.RateReached, "1.000 Mbit/s"},
		"datagrams wait for no receiver":          {ended{test: pacedUDP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 150e3, got: 150e3, stands: time.Second}, result.PathLimited, "neither end"},
		"a receiver of them, across the end":      {ended{test: pacedUDP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 250e3, got: 250e3, seconds: 2.5, stands: 500 * time.Millisecond}, result.ReceiverLimited, "stood still for 20 %"},
		"this end woke too late":                  {ended{test: pacedTCP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 225e3, got: 225e3, missed: 200 * time.Millisecond}, result.GeneratorLimited, "woke later than its burst"},
		"too late for datagrams":                  {ended{test: pacedUDP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 225e3, got: 225e3, missed: 200 * time.Millisecond}, result.GeneratorLimited, "woke later than its burst"},
		"too late, and the path was full as well": {ended{test: pacedTCP, send: spent(1, time.Millisecond), peerCPU: 1, sent: 225e3, got: 225e3, missed: 200 * time.Millisecond, held: 200 * time.Millisecond}, result.PathLimited, "neither end"},
		"it may have waited busily":               {ended{test: Test{Parallel: 1, Reverse: true, Bytes: 1e6}, receive: spent(1, time.Millisecond), peerCPU: 98, sent: 1e6, got: 1e6}, "", "the other end used 0.98 CPUs, and does not tell for how long of that it had nothing to send any more"},
		"not for long of so much":                 {ended{test: Test{Parallel: 1, Reverse: true, Bytes: much}, receive: spent(1, time.Millisecond), peerCPU: 98, sent: much, got: much}, result.GeneratorLimited, "98 %"},
		"whoever receives does not":               {ended{test: Test{Parallel: 1, Bytes: 1e6}, send: spent(1, time.Millisecond), peerCPU: 98, sent: 1e6, got: 1e6}, result.ReceiverLimited, "98 %"},
	} {
		if got := c.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}

// TestLimitOfAnEndOfIperf3sThatStoodStill: it does not tell, but a closed window and silence do.
func TestLimitOfAnEndOfIperf3sThatStoodStill(t *testing.T) {
	spent := traffic.CrewTime{Threads: 1, CPU: time.Second}
	stood := stall{total: 600 * time.Millisecond, whiles: 1}
	const much = 1e9
	forth := ended{test: Test{Parallel: 1}, send: spent, peerCPU: 40, sent: much, got: much, busy: 2 * time.Second, rwnd: 700 * time.Millisecond, untaken: stood}
	back := ended{test: Test{Parallel: 1, Reverse: true}, receive: spent, peerCPU: 40, sent: much, got: much, silent: stood}
	for name, c := range map[string]struct {
		change        func(forth, back *ended)
		of            *ended
		verdict, says string
	}{
		"it receives":               {func(f, _ *ended) {}, &forth, result.ReceiverLimited, "window was closed, and nothing was taken, for 30 % of the time, 200ms or more at a time"},
		"for a moment":              {func(f, _ *ended) { f.untaken.total = 100 * time.Millisecond }, &forth, result.PathLimited, "neither end"},
		"it is one of ours":         {func(f, _ *ended) { f.own = &ownResult{Receive: threadResult{Threads: 1}} }, &forth, result.PathLimited, "neither end"},
		"it sends":                  {func(_, b *ended) {}, &back, "", "nothing came for 30 % of the time, and the other end does not tell whether its program was stopped then"},
		"again and again":           {func(_, b *ended) { b.silent.whiles, b.again = 5, 4 }, &back, "", "nothing came"},
		"and what it sent was lost": {func(_, b *ended) { b.silent.whiles, b.again = 5, 5 }, &back, result.PathLimited, "neither end"},
		"the rate was kept":         {func(_, b *ended) { b.test.BitsPerSecond, b.sent, b.got = 1e6, 250e3, 250e3 }, &back, result.RateReached, "1.000 Mbit/s"},
		"both ways":                 {func(f, _ *ended) { f.test.Bidirectional, f.receive, f.silent = true, spent, stood }, &forth, result.ReceiverLimited, "nothing was taken, for 30 % of the time, 200ms or more at a time: its program was stopped, or had no CPU; back: no verdict: nothing came"},
	} {
		f, b := forth, back
		c.change(&f, &b)
		of := f
		if c.of == &back {
			of = b
		}
		if got := of.limit(); got.Verdict != c.verdict || !strings.Contains(got.Says, c.says) {
			t.Errorf("%s: %q: %s", name, got.Verdict, got.Says)
		}
	}
}
