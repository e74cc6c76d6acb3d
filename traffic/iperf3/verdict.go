package iperf3

import (
	"fmt"
	"math"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// untold is what the other end does not tell.
type untold struct {
	threads int        // of its process: one, as iperf3 had before 3.16, or one a stream
	drops   bool       // what is lost had no room in its socket
	full    bool       // its connections had something under way all the time
	late    bool       // its time is longer than this end's, which sends, as it ended late
	shut    bool       // its program stood still while its window was closed and it took nothing,
	silent  bool       // or while nothing came of it
	waits   bool       // of the CPU time that it used as it sent an amount, some was a busy wait
	own     *ownResult // one of ours tells all of that
}

// mostQueued is how much of a stream Linux lets a sender hand over ahead, in bytes (the last of net.ipv4.tcp_wmem as it is without
// changes).
const mostQueued = 4 << 20

// waited is for how long a sender of an amount may have waited in a window, in seconds, because it had handed over all: iperf3's does
// so busily, by all of a CPU (iperf_send in iperf_api.c of 3.12, iperf_client_worker_run around iperf_send_mt of 3.21), and for most of
// what is omitted, which its CPU time is of, too.
func (t Test) waited(sender result.PairEnd) float64 {
	switch {
	case !t.minds() || sender.Bytes == 0:
		return 0
	case t.Omit > 0:
		return sender.WindowSeconds
	}
	ahead := min(float64(sender.Bytes), mostQueued*float64(t.Parallel))
	return ahead / float64(sender.Bytes) * sender.WindowSeconds
}

// leastJudged is the shortest time, at either end, of which there is a verdict: in less, a rate is that of one call, and threads
// have waited for a CPU, or used it, for longer.
const leastJudged = 50 * time.Millisecond

// limit says what bounded the test, by what both ends tell (traffic.Judge). Where the verdict hangs on what the
// other one does not tell, there is none; of each direction for itself, as the nearer limit of the two hides the other.
func (t *tally) limit(e End, now reading, peer *results) result.Limit {
	if peer == nil {
		return result.Limit{Says: "no verdict: the other end's figures are missing"}
	}
	if took := e.shortest(); took < leastJudged.Seconds() {
		return result.Limit{Says: fmt.Sprintf("no verdict: the test took %.3g ms, which is too short for one", 1000*took)}
	}
	load := result.Options{"message": int64(t.test.Length)}
	if t.test.Omit > 0 { // else the first of all blocks is part of the test, which then has more than its rate
		load["together"] = int64(t.test.Length) * int64(max(1, t.test.Burst)) * int64(t.test.Parallel)
	}
	if lacks := t.test.lastLacks(); lacks > 0 {
		load["lacks"] = int64(min(lacks, math.MaxInt64))
	}
	alone := func(sends bool) judgement {
		return func(other untold) result.Limit {
			w := t.way(e, now, sends, other)
			return traffic.Judge(load, w.Sender, w.Receiver)
		}
	}
	if !t.test.Bidirectional {
		limit, _ := t.sure(e, peer.Own, alone(t.streams[0].sender))
		return t.orSpent(e, now, t.orUnread(e, now, limit))
	}
	both, _ := t.sure(e, peer.Own, func(other untold) result.Limit {
		forth, back := t.way(e, now, true, other), t.way(e, now, false, other)
		forth.Sender.Opposite, forth.Receiver.Opposite = &back.Receiver, &back.Sender
		return traffic.Judge(load, forth.Sender, forth.Receiver)
	})
	forth, forthHangs := t.sure(e, peer.Own, alone(true))
	back, backHangs := t.sure(e, peer.Own, alone(false))
	if unread := t.orUnread(e, now, forth); unread != forth {
		forth, both.Verdict = unread, unread.Verdict
		if result.Nearer(back.Verdict, both.Verdict) {
			both.Verdict = back.Verdict
		}
		forthHangs = true // the two have to be said anew
	}
	switch {
	case !forthHangs && !backHangs:
	case forth.Says == back.Says:
		both.Says = forth.Says
	default:
		both.Says = "forth: " + forth.Says + "; back: " + back.Says
	}
	return both
}

// lastLacks is how many bytes a test of an amount at a rate lacks in the end of what its time would hold: its last round of blocks, or
// bursts, one of each stream, takes as long as a whole one. Where something is omitted, the first that counts may be due a round later.
func (t Test) lastLacks() uint64 {
	round := uint64(t.Length) * uint64(max(1, t.Burst)) * uint64(t.Parallel)
	all := t.wholeBlocks(t.volume())
	if all == 0 || round == 0 || t.BitsPerSecond == 0 {
		return 0
	}
	lacks := (round - all%round) % round
	if t.Omit > 0 {
		lacks += round
	}
	return lacks
}

// shortest is the least time of a stream at either of its ends, in seconds.
func (e End) shortest() float64 {
	least := math.Inf(1)
	for _, s := range e.Streams {
		least = min(least, s.Sent.Seconds, s.Received.Seconds)
	}
	return least
}

// longest is the longest time of a stream at either of its ends, in seconds.
func (e End) longest() (most float64) {
	for _, s := range e.Streams {
		most = max(most, s.Sent.Seconds, s.Received.Seconds)
	}
	return most
}

// judgement is a verdict that takes that for what the other end does not tell.
type judgement func(untold) result.Limit

// sure is the verdict, if it does not hang on what is not told.
func (t *tally) sure(e End, own *ownResult, judge judgement) (limit result.Limit, hangs bool) {
	if own != nil {
		return judge(untold{own: own}), false
	}
	many := len(t.streams)
	limit = judge(untold{threads: many})
	if shut := judge(untold{threads: many, shut: true}); shut.Verdict != limit.Verdict {
		shut.Says = fmt.Sprintf("the receiver's TCP window was closed, and nothing was taken, for %.0f %% of the time, %v or more at a time: its program was stopped, or had no CPU",
			100*t.untaken.total.Seconds()/e.longest(), stallLeast)
		return shut, false
	}
	switch {
	case judge(untold{threads: many, late: true}).Verdict != limit.Verdict:
		says := fmt.Sprintf("no verdict: the other end counted for %.3g s, this one sent for %.3g, and it does not tell whether the path took so long or it ended late", e.longest(), e.shortest())
		return result.Limit{Says: says}, true
	case judge(untold{threads: many, drops: true}).Verdict != limit.Verdict:
		says := "no verdict: the other end does not tell whether the datagrams that were lost came to its socket, and found no room there"
		return result.Limit{Says: says}, true
	case judge(untold{threads: many, full: true}).Verdict != limit.Verdict:
		says := fmt.Sprintf("no verdict: this end stood still for %.0f %% of the time, and the other one does not tell whether it had something to send meanwhile", 100*e.Stood.Seconds()/e.longest())
		return result.Limit{Says: says}, true
	case judge(untold{threads: many, silent: true}).Verdict != limit.Verdict:
		says := fmt.Sprintf("no verdict: nothing came for %.0f %% of the time, and the other end does not tell whether its program was stopped then", 100*t.silent.total.Seconds()/e.longest())
		return result.Limit{Says: says}, true
	case judge(untold{threads: many, waits: true}).Verdict != limit.Verdict:
		says := fmt.Sprintf("no verdict: the other end used %.2f CPUs, and does not tell for how long of that it had nothing to send any more", e.Remote.Total/100)
		return result.Limit{Says: says}, true
	case judge(untold{threads: 1}).Verdict != limit.Verdict:
		says := fmt.Sprintf("no verdict: the other end used %.2f CPUs, and does not tell whether by one thread or by %d", e.Remote.Total/100, many)
		return result.Limit{Says: says}, true
	}
	return limit, false
}

// way is the direction in which this end sends, or the other one.
func (t *tally) way(e End, now reading, sends bool, other untold) (w result.Way) {
	w.Sender, _ = e.figures(sends, true)
	w.Receiver, _ = e.figures(sends, false)
	w.Sender.Offered = &result.Offered{TargetBitsPerSecond: t.test.BitsPerSecond * float64(t.test.Parallel), Lag: e.Lag}
	if rate := t.kernelRate(w); rate > 0 {
		w.Sender.Offered.TargetBitsPerSecond, w.Sender.Offered.Method = rate, traffic.KernelTCP
	}
	if sends {
		w.Receiver.Arrived = e.told(other)
	} else {
		w.Receiver.Arrived = e.arrived()
	}
	own := t.own(now)
	if sends {
		own.sent(&w.Sender)
		if away := now.away - t.base.away; away > 0 {
			w.Sender.Offered.AwaySeconds, w.Sender.Offered.AwayWhy = away.Seconds(), now.awayWhy.Error()
		}
		t.otherEnd(e, now, &w.Receiver, false, other)
	} else {
		own.received(&w.Receiver)
		t.otherEnd(e, now, &w.Sender, true, other)
	}
	return w
}

// otherEnd puts in what is known of the threads of the other end, which sends or receives.
func (t *tally) otherEnd(e End, now reading, end *result.PairEnd, sends bool, other untold) {
	switch {
	case other.own != nil && sends:
		other.own.sent(end)
		return
	case other.own != nil:
		other.own.received(end)
		return
	}
	if other.shut && !sends {
		end.StoodSeconds = min(end.WindowSeconds, t.untaken.total.Seconds())
	}
	if other.silent && sends && t.quietIsUntold(e) {
		end.StoodSeconds = min(end.WindowSeconds, t.silent.total.Seconds())
	}
	if other.late && !sends {
		end.WindowSeconds = min(end.WindowSeconds, now.at.Sub(t.base.at).Seconds())
	}
	end.Threads, end.CPUSeconds = other.threads, e.Remote.Total/100*end.WindowSeconds
	if other.full && sends && t.test.Protocol != UDP {
		end.Connections = []result.Connection{{BusySeconds: end.WindowSeconds}}
	}
	if other.waits && sends {
		end.CPUSeconds = max(0, end.CPUSeconds-t.test.waited(*end))
	}
}

// quietIsUntold tells whether it may be the other end's doing that nothing came for a while.
func (t *tally) quietIsUntold(e End) bool {
	sentAgain := int64(0)
	for _, s := range e.Streams {
		if !s.Sender {
			sentAgain += max(0, s.Sent.Retransmits)
		}
	}
	return !t.silent.mayBeThePaths(sentAgain)
}

// overKernelRate is how much more than --fq-rate arrives where the kernel keeps that.
const overKernelRate = 1.05

// kernelRate is --fq-rate of a direction's streams, in bit/s, where it is what bounds them; 0: it does not, as with a higher -b.
// Of UDP only a qdisc of fq keeps it, and no server of iperf3 3.12 does (iperf_tcp_accept in iperf_tcp.c): more than it moves then.
func (t *tally) kernelRate(w result.Way) float64 {
	if t.test.FQRate == 0 || t.test.BitsPerSecond > 0 && t.test.BitsPerSecond <= t.test.FQRate {
		return 0
	}
	all, moved := t.test.FQRate*float64(t.test.Parallel), rate(w.Receiver.Bytes, w.Receiver.WindowSeconds)
	if t.test.Protocol == UDP { // a stream's sender hands over what its buffer holds
		moved = rate(w.Sender.Bytes, w.Sender.WindowSeconds)
	}
	if moved > overKernelRate*all {
		return 0
	}
	return all
}

// told is what the other end says of the datagrams that this one sent, by iperf3's arithmetic; nil without any.
func (e End) told(other untold) *result.Arrived {
	var a *result.Arrived
	for _, s := range e.Streams {
		if s.UDP == nil || !s.Sender {
			continue
		}
		if a == nil {
			a = &result.Arrived{}
		}
		a.Flows++
		a.StoodSeconds = e.stood(false, s.Received.Seconds)
		a.Expected += uint64(max(0, s.UDP.ReceivedPackets))
		a.Lost += uint64(max(0, s.UDP.Lost))
	}
	switch {
	case a == nil:
	case other.own != nil:
		a.SocketDrops = min(other.own.Drops, a.Lost)
	case other.drops:
		a.SocketDrops = a.Lost
	}
	return a
}

// limited is for how long a sender was held up since an earlier reading, which may be none.
func (c *tcpCounts) limited(before *tcpCounts) result.Connection {
	if before == nil {
		before = &tcpCounts{}
	}
	return result.Connection{BusySeconds: (c.busy - before.busy).Seconds(), MinRTTSeconds: c.minRTT.Seconds(),
		RwndLimitedSeconds: (c.rwnd - before.rwnd).Seconds(), SndbufLimitedSeconds: (c.sndbuf - before.sndbuf).Seconds()}
}
