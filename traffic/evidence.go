package traffic

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"windtunnel/result"
)

// evidence is what the verdict rests on. Rates are in the target's unit: packets
// per second where it has one of those, bits of payload per second else. Shares
// are of the window's time, or of all packets.
type evidence struct {
	packets        bool // rates are packets
	target         float64
	due            float64 // as target, but of requests at random no more than were due
	sent, received float64
	plenty         bool    // more requests were due, at random
	beyond         bool    // more came than was sent in the window: it had waited before that
	left           float64 // as sent, but of requests also those whose answer came too late, or never
	asks           bool    // the sender waits for answers
	inTurn         bool    // and each of its threads asks for no more than one at a time, which is a packet each way
	one            float64 // packet or message in the window: no rate is known better
	whole          float64 // what all streams of a foreign protocol send at once, whole blocks or bursts (the load's "together", bytes); 0: as one
	lacks          float64 // as sent, what an amount in whole blocks or bursts lacks of what its time would hold (the load's "lacks", bytes)
	perSecond      float64 // sent, in the unit of calibrated
	calibrated     float64 // result.Offered.CalibratedPerSecond
	loss           float64
	behind         uint64 // requests over TCP, which loses none, without an answer yet
	socketDrops    float64
	sender         float64 // busy share of the hot threads
	receiver       float64
	senderKnown    bool // it has hot threads
	receiverKnown  bool
	senderMost     float64 // of the busiest of them
	receiverMost   float64
	wait           float64 // share of the sender's threads' time without a CPU
	behindPath     float64 // the same, while the path's kernel threads had it
	receiverWait   float64 // as wait, of the receiver's threads
	spins          bool    // busy polling: a busy thread says nothing, of either end
	receiverSpins  bool    // nor of the receiver
	rwnd, sndbuf   float64 // of the connections' time (TCP_INFO)
	underWay       float64 // likewise, with data under way; 0 where nobody tells
	buffers        buffers
	nearby         bool    // their round trips end with the sender's pause, so that what is under way then waits to leave
	missed         float64 // of the rate, what threads that woke too late never sent (result.Offered.MissedSeconds)
	held           float64 // of the rate, what was not sent as the sockets were full (result.Offered.HeldSeconds)
	away           float64 // of the window, in which the sender's system had no way to the receiver
	awayWhy        string
	stood          float64 // of the receiver's window, in which its threads stood still
	longer         float64 // of that window, by how much it is longer than the sender's
	shorter        float64 // of the sender's window, by how much that is longer than the receiver's
	senderStill    float64 // as stood, of the sender of a stream
	receiverStill  float64 // and of its receiver
	queued         float64 // by how much a queue on the way grew, of the window
	bucket         bool    // the sender's threads keep the rate, by token buckets
	kernelPaces    bool    // the kernel does, of what they hand over ahead
	refusals       uint64
	refusedFrames  float64 // a second, of our own engine where it offers each once
	polls          bool    // a program of others sends frames: it polls and never waits
	turnedAway     float64 // of what one of those offered
}

// leastWindow is the shortest, in seconds, of which there is a rate: whoever tells of a shorter one has none, or lies.
const leastWindow = 1e-3

// evidenceOf gathers it, or says what is missing for a verdict.
func evidenceOf(load result.Options, sender, receiver result.PairEnd) (evidence, string) {
	switch {
	case !(sender.WindowSeconds >= leastWindow && receiver.WindowSeconds >= leastWindow):
		return evidence{}, "an end has no window"
	case sender.Idle():
		return evidence{}, "the sender sent nothing"
	}
	e := evidence{
		sender: busyShare(sender), receiver: busyShare(receiver), senderKnown: sender.Threads > 0, receiverKnown: receiver.Threads > 0,
		senderMost: busiestShare(sender), receiverMost: busiestShare(receiver),
		perSecond: sender.PerSecond(),
		rwnd:      connectionShare(sender, func(c result.Connection) float64 { return c.RwndLimitedSeconds }),
		sndbuf:    connectionShare(sender, func(c result.Connection) float64 { return c.SndbufLimitedSeconds }),
		underWay:  connectionShare(sender, func(c result.Connection) float64 { return c.BusySeconds }),
	}
	e.nearby = nearby(sender.Connections)
	e.buffers = askedBuffers(load, sender, receiver)
	e.asks = sender.Asks()
	e.inTurn = e.asks && oneInTurn(load, sender)
	e.spins = load.Text("poll") == "busy" && e.asks
	e.receiverSpins = e.spins || pollsUntold(receiver)
	if a := (result.Way{Sender: sender, Receiver: receiver}).Arrived(); a != nil && a.Expected > 0 {
		e.behind = a.Behind
		e.loss = float64(a.Lost-a.Waited()) / float64(a.Expected)
		e.socketDrops = float64(a.SocketDrops) / float64(a.Expected)
		e.queued = a.Backlog / receiver.WindowSeconds
		e.stood = a.StoodSeconds / receiver.WindowSeconds
	}
	e.loss = max(e.loss, unnumbered(sender, receiver))
	e.longer, e.shorter = max(0, 1-sender.WindowSeconds/receiver.WindowSeconds), max(0, 1-receiver.WindowSeconds/sender.WindowSeconds)
	e.senderStill, e.receiverStill = sender.StoodSeconds/sender.WindowSeconds, receiver.StoodSeconds/receiver.WindowSeconds
	if o := sender.Offered; o != nil {
		e.offered(*o, sender)
	}
	if w := receiver.Waited; w != nil && receiver.Threads > 0 {
		e.receiverWait = waitShare(receiver, w.Seconds-w.PathSeconds)
	}
	e.rates(load, sender, receiver)
	e.beyond = moreThanSent(load, sender, receiver)
	if e.target > 0 && e.target < reached*max(e.one, e.whole) { // the first of them leaves at once, and is no rate
		return evidence{}, "at the rate asked for not one was due in the window, which must be longer"
	}
	return e, ""
}

// unnumbered is the share of the packets that never came where nobody numbers them, as a program's of others: known no better than the two
// windows agree, so that less than coarse counts for nothing.
func unnumbered(sender, receiver result.PairEnd) float64 {
	if sender.Asks() || sender.Packets == 0 || receiver.Packets == 0 || receiver.Arrived != nil {
		return 0
	}
	lost := 1 - receiver.PerSecond()/sender.PerSecond()
	if lost < coarse {
		return 0
	}
	return lost
}

func (e *evidence) offered(o result.Offered, sender result.PairEnd) {
	e.calibrated, e.refusals = o.CalibratedPerSecond, o.Refused
	e.bucket, e.kernelPaces = o.Method == TokenBucket, o.Method == KernelFQ || o.Method == KernelTCP
	e.held = o.HeldSeconds / sender.WindowSeconds
	e.away, e.awayWhy = o.AwaySeconds/sender.WindowSeconds, o.AwayWhy
	if o.MissedSeconds != nil {
		e.missed = *o.MissedSeconds / sender.WindowSeconds
	}
	e.polls = sender.Generator != nil && sender.Frames != nil
	if offered := sender.Packets + o.Refused; sender.Generator != nil && offered > 0 {
		e.turnedAway = float64(o.Refused) / float64(offered)
	}
	if sender.Frames != nil && sender.Generator == nil && sender.Cycles == nil { // a port of poll mode is offered them again
		e.refusedFrames = float64(o.Refused) / sender.WindowSeconds
	}
	if sender.Threads > 0 {
		e.behindPath = o.PathSeconds / (float64(sender.Threads) * sender.WindowSeconds)
		e.wait = waitShare(sender, o.WaitSeconds-o.PathSeconds)
	}
	e.target = o.TargetBitsPerSecond
	if e.packets = o.TargetPacketsPerSecond > 0; e.packets {
		e.target = o.TargetPacketsPerSecond
	}
}

func (e *evidence) rates(load result.Options, sender, receiver result.PairEnd) {
	e.sent = 8 * float64(sender.Bytes) / sender.WindowSeconds
	e.received = 8 * float64(receiver.Bytes) / receiver.WindowSeconds
	if sender.Packets == 0 { // a stream's message counts as handed over when the kernel has all of it, and that may be late
		e.sent = max(e.sent, e.received)
	}
	// What a stream's sender hands over at once arrives in parts, of which the rate shows more than of a datagram.
	e.one = min(8*float64(atOnce(load, sender))/sender.WindowSeconds, coarse*e.target)
	if sender.Packets > 0 {
		e.one = 8 * float64(sender.Bytes) / float64(sender.Packets) / sender.WindowSeconds
	}
	e.due, e.left = e.target, e.sent
	e.whole = 8 * float64(load.Int("together")) / sender.WindowSeconds
	e.lacks = 8 * float64(load.Int("lacks")) / sender.WindowSeconds
	if e.packets {
		e.one = 1 / sender.WindowSeconds
		e.sent = float64(sender.Packets) / sender.WindowSeconds
		e.received = float64(receiver.Packets) / receiver.WindowSeconds
		e.left = e.sent
		if e.asks { // a request that has its answer later is no rate
			e.received = min(e.received, sender.PerSecond())
			due := dueRate(load, sender)
			e.due, e.plenty = min(e.target, due), reached*due > e.target && !math.IsInf(due, 1)
			e.left = max(e.left, leftRate(sender))
		}
	}
}

// moreThanSent tells whether more came by the second than was sent, and than an end's window may hold of what is sent at once.
func moreThanSent(load result.Options, sender, receiver result.PairEnd) bool {
	sent, came := float64(sender.Bytes)/sender.WindowSeconds, float64(receiver.Bytes)/receiver.WindowSeconds
	return came > sent/reached+float64(max(atOnce(load, sender), load.Int("together")))/sender.WindowSeconds
}

// dueRate is how many requests a second were due in the window: at random it may be fewer than were asked for. It is known of our own engine,
// whose requests that were due and not sent are counted.
func dueRate(load result.Options, sender result.PairEnd) float64 {
	if load.Text("arrivals") != "poisson" || sender.Generator != nil || sender.Arrived == nil {
		return math.Inf(1)
	}
	return float64(sender.Arrived.Expected+sender.Offered.Refused) / sender.WindowSeconds
}

// leftRate is how many requests a second left in the window, whatever became of them; 0 where only the answers are known.
func leftRate(sender result.PairEnd) float64 {
	if sender.Generator != nil || sender.Arrived == nil {
		return 0
	}
	return float64(sender.Arrived.Expected-min(sender.Arrived.Expected, sender.Offered.Unsent)) / sender.WindowSeconds
}

// atOnce is how many bytes a stream's sender hands over at once: a message, or where the kernel keeps the rate what that sends in one
// packet, if it is more, and of a bucket what it lets through.
func atOnce(load result.Options, sender result.PairEnd) int64 {
	o := sender.Offered
	switch {
	case o != nil && o.Method == TokenBucket:
		return int64(o.BurstPackets) * SegmentBytes
	case o != nil && (o.Method == KernelFQ || o.Method == KernelTCP):
		most := load.Int("message")
		for _, c := range sender.Connections {
			most = max(most, kernelPacket(c))
		}
		return most
	}
	return load.Int("message")
}

// kernelPacket is how many bytes TCP sends in one packet of a rate that it keeps: two segments at the least, and over short round trips
// as many as half of its congestion window (tcp_cwnd_test in net/ipv4/tcp_output.c), up to 64 KiB, halved for each 512 us
// (tcp_tso_autosize there, since Linux 5.18). Where packets wait on the way, or are lost, it is the path that makes a window lack some.
func kernelPacket(c result.Connection) int64 {
	short := int64(0)
	if c.MinRTTSeconds > 0 && c.Retransmits == 0 {
		short = 64 << 10 >> min(uint(max(c.MinRTTSeconds, c.RTTSeconds)/512e-6), 32)
	}
	mss := int64(c.MSS)
	return max(2*mss, min(short, int64(c.CongestionWindow/2)*mss))
}

// oneInTurn tells whether each thread of a closed loop has one packet under way at a time, there or back.
func oneInTurn(load result.Options, sender result.PairEnd) bool {
	packet := int64(SegmentBytes)
	if len(sender.Connections) > 0 {
		packet = max(packet, int64(sender.Connections[0].MSS))
	}
	return max(1, load.Int("depth"))*max(1, load.Int("flows")) <= int64(sender.Threads) && max(load.Int("message"), load.Int("response")) <= packet
}

// busyShare is the hot threads' CPU time in all the time they had.
func busyShare(end result.PairEnd) float64 {
	if end.Threads == 0 {
		return 0
	}
	return min(1, (end.CPUSeconds-pollSeconds(end))/(float64(end.Threads)*end.WindowSeconds))
}

// pollSeconds are those of an end's CPU time in which it asked whether something had come, and nothing had.
func pollSeconds(end result.PairEnd) float64 {
	if end.Arrived == nil {
		return 0
	}
	return max(0, min(end.Arrived.PollSeconds, end.CPUSeconds))
}

// pollsUntold: a receiver polls and does not tell for how long in vain, or not of which of its threads.
func pollsUntold(end result.PairEnd) bool {
	return end.Arrived != nil && end.Arrived.Polled && (end.Arrived.PollSeconds <= 0 || end.Threads > 1)
}

// waitShare is what the hot threads waited of all the time they had; one that waits for its first turn began to before the window.
func waitShare(end result.PairEnd, seconds float64) float64 {
	return min(1, max(0, seconds)/(float64(end.Threads)*end.WindowSeconds))
}

// busiestShare is the same of the thread that has least time left: flows may be more than threads, and not spread alike.
func busiestShare(end result.PairEnd) float64 {
	return max(busyShare(end), min(1, (end.BusiestSeconds-pollSeconds(end))/end.WindowSeconds))
}

// busyWords are a busy share, and where it differs that of the busiest thread.
func busyWords(mean, most float64) string {
	if percent(mean) == percent(most) {
		return percent(mean) + " of the time"
	}
	return fmt.Sprintf("%s of the time, the busiest of them %s", percent(mean), percent(most))
}

// connectionShare is a part of the connections' time in the window.
func connectionShare(sender result.PairEnd, part func(result.Connection) float64) float64 {
	if len(sender.Connections) == 0 {
		return 0
	}
	sum := 0.0
	for _, c := range sender.Connections {
		sum += part(c)
	}
	return min(1, sum/(float64(len(sender.Connections))*sender.WindowSeconds))
}

// nearby tells whether all round trips are known to be shorter than a thread is without a CPU (a scheduler's slice has a millisecond
// and more): over a longer one data is under way also while a sender lacks it.
func nearby(connections []result.Connection) bool {
	return len(connections) > 0 && !slices.ContainsFunc(connections, func(c result.Connection) bool { return c.MinRTTSeconds <= 0 || c.MinRTTSeconds > 1e-3 })
}

// flatOut reports whether the sender's threads could do no more.
func (e evidence) flatOut() bool { return !e.spins && e.senderMost >= busy }

// short is by how much of the target less was sent than counts as kept, 0 where the rate was.
func (e evidence) short() float64 {
	if e.target == 0 || e.sentAll(e.left) {
		return 0
	}
	return 1 - e.left/e.due
}

// ends says how busy both ends were.
func (e evidence) ends() string {
	if e.spins {
		return "its threads poll, so that they are always busy"
	}
	says := e.busyEnds()
	if e.wait >= waiting {
		says += fmt.Sprintf("; the sender's could run and had no CPU for %s", percent(e.wait))
	}
	if e.receiverWait >= waiting {
		says += fmt.Sprintf("; the receiver's could run and had no CPU for %s", percent(e.receiverWait))
	}
	return says
}

// busyEnds leaves out an end whose hot threads are not known, as what is counted in the kernel has none.
func (e evidence) busyEnds() string {
	switch {
	case e.senderKnown && e.receiverSpins:
		return fmt.Sprintf("the sender's threads were busy %s of the time, and the receiver's poll, so that they always are", percent(e.sender))
	case e.senderKnown && e.receiverKnown:
		return fmt.Sprintf("the sender's threads were busy %s of the time, the receiver's %s", percent(e.sender), percent(e.receiver))
	case e.senderKnown:
		return fmt.Sprintf("the sender's threads were busy %s of the time, and of the receiver's nothing is known", percent(e.sender))
	case e.receiverKnown:
		return fmt.Sprintf("the receiver's threads were busy %s of the time, and of the sender's nothing is known", percent(e.receiver))
	}
	return "nothing is known of their threads"
}

// rate writes one in four digits.
func (e evidence) rate(perSecond float64) string {
	if e.packets {
		return digits(perSecond) + " packets/s"
	}
	return digits(perSecond/1e6) + " Mbit/s"
}

func digits(v float64) string {
	const figures = 4
	whole := 1
	if v >= 1 {
		whole = int(math.Log10(v)) + 1
	}
	return strconv.FormatFloat(v, 'f', max(0, figures-whole), 64)
}

// percent says neither none of a little nor all of less.
func percent(share float64) string {
	switch {
	case share > 0.9999 && share < 1:
		return "more than 99.99 %"
	case share > 0 && share < 0.0001:
		return "less than 0.01 %"
	case share > 0 && share < 0.01, share >= 0.995 && share < 1:
		return fmt.Sprintf("%.2f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
