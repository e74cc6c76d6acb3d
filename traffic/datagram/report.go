package datagram

import (
	"strings"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// report is the window as this end saw it. Which datagrams are the window's,
// the sender decides: it marks them, and tells how many they were. Where they flow
// both ways, an end's other direction is its opposite.
func (r *run) report() result.PairEnd {
	last := r.engine.Snapshot()
	r.keepLedger(last)
	switch {
	case r.receives == 0:
		return r.sentEnd(last)
	case r.sends == 0:
		return r.takenEnd(last)
	}
	own, other := r.sentEnd(last), r.takenEnd(last)
	if r.worker.role == traffic.Receive {
		own, other = other, own
	}
	own.Opposite = &other
	return own
}

func (r *run) keepLedger(last Snapshot) {
	l := &r.worker.ledger
	for _, f := range last.Flows[:r.sends] {
		l.sent += f.Packets
	}
	for _, n := range r.peerSent.sum() {
		l.promised += n
	}
	for _, f := range last.Flows[r.sends:] {
		l.received.Packets += f.Packets
		l.received.Late += f.Late
		l.received.Duplicate += f.Duplicate
		l.received.Reordered += f.Reordered
		l.received.Corrupt += f.Corrupt
		l.received.SocketDrops += f.SocketDrops
	}
}

// windowSeconds is the schedule's, which the sending threads keep to; of a window
// that was cut short, the time between its readings.
func (r *run) windowSeconds() float64 {
	if r.cutShort {
		return r.ended.At.Sub(r.began.At).Seconds()
	}
	return r.when.Window.Seconds()
}

// callsAndDrops are counted between the two snapshots.
func callsAndDrops(before, after []FlowCounts) (calls, refused, drops uint64) {
	for i := range after {
		calls += after[i].Calls - before[i].Calls
		refused += after[i].Refused - before[i].Refused
		drops += after[i].SocketDrops - before[i].SocketDrops
	}
	return calls, refused, drops
}

func (r *run) sentEnd(last Snapshot) result.PairEnd {
	end := result.PairEnd{WindowSeconds: r.windowSeconds()}
	for _, f := range last.Flows[:r.sends] {
		end.Packets += f.Marked[markWindow].Packets
	}
	var refused uint64
	end.Calls, refused, _ = callsAndDrops(r.began.Flows[:r.sends], r.ended.Flows[:r.sends])
	end.Bytes = end.Packets * uint64(r.load().message)
	spent := r.ended.Send.Since(r.began.Send)
	wait, missed := r.notYetTold()
	end.CPUSeconds, end.BusiestSeconds = spent.CPU.Seconds(), spent.Busiest().Seconds()
	end.Threads = r.load().threads
	end.Intervals = r.out.done
	perSecond := r.engine.config.packetsPerSecond() * float64(r.load().flows)
	bits := perSecond * 8 * float64(r.load().message)
	if r.load().packets == 0 {
		bits = r.load().rate // as it was asked for, unrounded
	}
	offered := &result.Offered{
		TargetPacketsPerSecond: perSecond, TargetBitsPerSecond: bits,
		BurstPackets: r.engine.Burst(), Refused: refused,
		WaitSeconds: min((spent.Wait + wait).Seconds(), max(spent.Wait.Seconds(), float64(end.Threads)*end.WindowSeconds)),
	}
	if perSecond > 0 {
		missed := (r.ended.Missed - r.began.Missed + missed).Seconds() / float64(end.Threads)
		offered.MissedSeconds = &missed
	}
	r.tellAway(offered)
	offered.Method, offered.Why = r.engine.Sending()
	if lag := r.engine.lagUnder(markWindow); lag != nil {
		h := lag.Histogram()
		offered.Lag = &h
	}
	end.Offered = offered
	r.betweenMarks(&end, traffic.Send)
	return end
}

// notYetTold is for how long senders had waited for a CPU when the window ended, without one then, and how much of the rate they had missed: both are known when
// they go on, of which no more than the time since then is another's.
func (r *run) notYetTold() (wait, missed time.Duration) {
	after := r.halted.At.Sub(r.ended.At)
	if after < 0 { // they have not ended in order
		return 0, 0
	}
	missed = r.halted.Missed - r.ended.Missed - after*time.Duration(r.load().threads)
	return r.ended.Send.Waiting(r.halted.Send, after), max(0, missed)
}

// tellAway says for how long of the window the flows had no way to the peer.
func (r *run) tellAway(offered *result.Offered) {
	for i, after := range r.ended.Flows[:r.sends] {
		if away := after.Away - r.began.Flows[i].Away; away > 0 {
			offered.AwaySeconds += away.Seconds() / float64(r.sends)
			offered.AwayWhy = after.AwayWhy.Error()
		}
	}
}

func (r *run) takenEnd(last Snapshot) result.PairEnd {
	end := result.PairEnd{WindowSeconds: r.windowSeconds()}
	flows := last.Flows[r.sends:]
	var spread result.PerFlow
	arrived := &result.Arrived{Flows: r.receives, PerFlow: &spread}
	var all Marked
	for _, f := range flows {
		all.add(f.Marked[markWindow])
		spread.Add(f.Marked[markWindow].Packets)
		arrived.Jitter += f.Jitter
		arrived.Backlog += f.Backlog
	}
	if spread.Came > 0 { // the mean of those that tell it
		arrived.Jitter /= float64(spread.Came)
		arrived.Backlog /= float64(spread.Came)
	}
	end.Packets, end.Bytes = all.Packets, all.Packets*uint64(r.load().message)
	arrived.Late, arrived.Reordered, arrived.Duplicate, arrived.Corrupt = all.Late, all.Reordered, all.Duplicate, all.Corrupt
	arrived.Corrupt += r.corruptBefore(flows)
	arrived.Expected = r.expected(all)
	arrived.Lost = arrived.Expected - all.Packets - all.Late
	var drops uint64
	end.Calls, _, drops = callsAndDrops(r.began.Flows[r.sends:], r.ended.Flows[r.sends:])
	dropsBefore, stoodBefore := r.beforeItWentOn()
	drops += dropsBefore
	arrived.SocketDrops = DroppedDatagrams(drops, end.Packets, end.Calls, arrived.Lost)
	arrived.Method, arrived.Why = r.engine.Receiving()
	if r.peerSent == nil && !r.cutShort { // of a whole window, which may hold any number more
		arrived.Untold = []result.Metric{result.Loss}
		arrived.Why = strings.TrimPrefix(arrived.Why+"; the sender did not tell how many it had sent", "; ")
	}
	arrived.Raised, arrived.PollGain = r.engine.Raised(), r.engine.PollGain()
	arrived.PollSeconds = (r.ended.Vain - r.began.Vain).Seconds()
	arrived.Polled = r.engine.Polled() && arrived.PollSeconds > 0 // else its CPU time in the window says what another's does
	// A thread notes it when it goes on, which may be behind the window.
	arrived.StoodSeconds = min((stoodBefore+last.Stood-r.began.Stood).Seconds()/float64(r.load().threads), r.windowSeconds())
	spent := r.ended.Receive.Since(r.began.Receive)
	end.CPUSeconds, end.BusiestSeconds = spent.CPU.Seconds(), spent.Busiest().Seconds()
	if spent.Wait > 0 {
		end.Waited = &result.Wait{Seconds: spent.Wait.Seconds()}
	}
	end.Threads = r.load().threads
	end.Intervals = r.in.done
	if few := end.Packets < fewDatagrams; r.cutShort || few && arrived.Backlog*float64(end.Packets) < surelyQueued*r.windowSeconds() {
		arrived.Backlog = 0
	}
	end.Arrived = arrived
	r.betweenMarks(&end, traffic.Receive)
	return end
}

// beforeItWentOn is what an end that was stopped when the window began had no room for until its first reading, and for how long of the window
// it stood still, summed over its threads; 0 where that reading came in time.
func (r *run) beforeItWentOn() (drops uint64, stood time.Duration) {
	late := r.began.At.Sub(r.when.Start.Add(r.when.WarmUp))
	if late < 2*patience {
		return 0, 0
	}
	_, _, drops = callsAndDrops(r.first.Flows[r.sends:], r.began.Flows[r.sends:])
	return drops, min(r.began.Stood-r.first.Stood, late*time.Duration(r.load().threads))
}

// corruptBefore are the corrupt datagrams that came in the window, by this end's clock, before the first of
// it that was intact: nobody can read their mark, so they were counted as the warm-up's.
func (r *run) corruptBefore(flows []FlowCounts) (n uint64) {
	for i, f := range flows {
		n += f.Marked[0].Corrupt - r.began.Flows[r.sends+i].Marked[0].Corrupt
	}
	return n
}

// DroppedDatagrams is how many datagrams the socket's drops were. The kernel
// counts an aggregate once (sk_drops in include/net/sock.h): it is taken for as
// many datagrams as those that came had. The counter's window is not quite that
// of what was lost, so it is at most that.
func DroppedDatagrams(drops, packets, messages, lost uint64) uint64 {
	if messages > 0 && packets > messages {
		drops = uint64(float64(drops) * float64(packets) / float64(messages))
	}
	return min(drops, lost)
}

// expected is how many datagrams the peer sent in its window. A peer that went
// away told nothing: then it is what the numbers showed by the window's end.
func (r *run) expected(all Marked) uint64 {
	came := all.Packets + all.Late
	if r.peerSent != nil {
		return max(came, r.peerSent.sum()[markWindow])
	}
	missing := uint64(0)
	for i := r.sends; i < len(r.ended.Flows); i++ {
		if before, after := r.began.Flows[i].Lost, r.ended.Flows[i].Lost; after > before {
			missing += after - before
		}
	}
	return came + missing
}

// fewDatagrams do not tell a time within 1 %, nor quite what is the shortest one under way: that of a queue which grows does by more than it
// takes so many of them to leave.
const (
	fewDatagrams = 200
	surelyQueued = 2
)

// betweenMarks replaces the schedule's window by the time from the first datagram
// of the sender's window to the first after it, as they left or came: the ends'
// clocks began apart, and the datagrams that are counted are those. Where the first
// ones of a mark were lost, or the sender stood still or had no way to the peer when it
// began, the window is longer or shorter by as much as those that came left after it. Few datagrams tell no time: a second of three a second would
// be 0.67 or 1.33 s.
func (r *run) betweenMarks(end *result.PairEnd, role traffic.Role) {
	from, allFrom := r.engine.seenMark(role, markWindow)
	to, allTo := r.engine.seenMark(role, markTail)
	if end.Packets >= fewDatagrams && from.yes && !to.yes && role == traffic.Receive && !r.cutShort {
		r.untilTheLast(end, from)
	}
	if end.Packets < fewDatagrams || !from.yes || !to.yes || to.at <= from.at {
		return
	}
	seconds := time.Duration(to.at - from.at).Seconds()
	left := time.Duration(to.sent - from.sent)
	if role == traffic.Send {
		left = time.Duration(to.at - from.at)
	}
	whole := role == traffic.Send || r.begins(from, markWindow) && r.begins(to, markTail)
	credible := left >= 0 && left <= 2*r.when.Window // else no sender of ours, or its short times have wrapped
	if apart := r.when.Window - left; credible && (!whole || apart.Abs() > r.silence(end.Packets)) {
		whole = false
		seconds += apart.Seconds()
		left = r.when.Window
	}
	if credible && seconds < left.Seconds() { // it read the first ones late
		seconds = min(left.Seconds(), seconds+time.Duration(from.behind).Seconds())
	}
	if !whole && !credible || seconds <= 0 {
		return
	}
	stretch(end, seconds)
	if whole && allFrom && allTo {
		end.CPUSeconds = max(0, (to.cpu - from.cpu).Seconds())
	}
}

// stretch takes a window for one of so many seconds, of which what all used between the snapshots is a share.
func stretch(end *result.PairEnd, seconds float64) {
	end.CPUSeconds *= seconds / end.WindowSeconds
	end.BusiestSeconds *= seconds / end.WindowSeconds
	if end.Arrived != nil {
		end.Arrived.PollSeconds *= seconds / end.WindowSeconds
	}
	if end.Waited != nil {
		end.Waited.Seconds *= seconds / end.WindowSeconds
	}
	if o := end.Offered; o != nil {
		o.WaitSeconds *= seconds / end.WindowSeconds
		o.AwaySeconds *= seconds / end.WindowSeconds
		if o.MissedSeconds != nil {
			*o.MissedSeconds *= seconds / end.WindowSeconds
		}
	}
	end.WindowSeconds = seconds
}

// untilTheLast takes the window for one until the last datagram, where none has come that marks its end: those in a queue that came
// behind the schedule's are no more of its rate.
func (r *run) untilTheLast(end *result.PairEnd, from seen) {
	last := int64(0)
	for _, in := range r.engine.ins {
		if in != nil {
			last = max(last, in.arrived)
		}
	}
	if seconds := time.Duration(last - from.at).Seconds(); seconds > end.WindowSeconds {
		stretch(end, seconds)
	}
}

// silence is how much longer or shorter than the schedule a sender's window may be by what it does: its calls end by patience, before a full socket each waits until
// what one hands over has room, and datagrams at times of Poisson are ten times the mean apart once in 22,000 (e^10). Of a longer one it stood still at an edge.
func (r *run) silence(packets uint64) time.Duration {
	c := r.engine.config
	perThread := c.packetsPerSecond() * float64(max(r.receives, r.sends)) / float64(max(1, c.Threads))
	call := newPacer(perThread, c.Burst, c.Together, atOnce(c.Message), 0).batch
	return 5*patience/2 + time.Duration(max(10, call))*r.when.Window/time.Duration(max(packets, 1))
}

// begins tells whether a mark's first datagram that came is its flow's first, so that none was lost before it.
func (r *run) begins(first seen, mark int) bool {
	if int(first.flow) >= len(r.peerSent) {
		return false
	}
	before := uint64(0)
	for _, n := range r.peerSent[first.flow][:mark] {
		before += n
	}
	return first.seq == before
}
