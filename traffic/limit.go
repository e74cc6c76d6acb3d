package traffic

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// The marks at which a figure counts as evidence.
const (
	reached     = 0.99  // of the target: the rate was kept
	coarse      = 0.05  // of the target, at most, by which a stream may miss it for one message of the window
	busy        = 0.90  // of the threads' time: they could do no more
	waiting     = 0.10  // of the threads' time without a CPU
	mostOfTime  = 0.50  // of the connections' time, as TCP_INFO has it
	lossy       = 0.01  // of the packets, and more than a load's own edges lose
	overflowing = 0.001 // of the packets, dropped at the receiving socket
	overflows   = 0.01  // of the frames, turned away by a full port
	calibrated  = 0.80  // of the generator's own rate: the generator is the limit
)

// Judge says what bounded a pair's traffic in the window: the rate that it was
// asked for, the sender, the receiver, or what lies between. It looks at both
// ends' figures alone. A limit without a verdict says why there is none. A load
// that flows both ways is judged in each direction, and the nearer limit counts.
func Judge(load result.Options, sender, receiver result.PairEnd) result.Limit {
	var limit result.Limit
	for i, way := range result.Ways(sender, receiver) {
		one := judgeWay(load, way.Sender, way.Receiver)
		switch {
		case i == 0:
			limit = one
			continue
		case one.Verdict == "" || limit.Verdict == "":
			continue
		case result.Nearer(one.Verdict, limit.Verdict):
			limit.Verdict = one.Verdict
		}
		limit.Says = "forth: " + limit.Says + "; back: " + one.Says
	}
	return limit
}

// judgeWay judges one direction by the first rule that holds.
func judgeWay(load result.Options, sender, receiver result.PairEnd) result.Limit {
	e, missing := evidenceOf(load, sender, receiver)
	if missing != "" {
		return result.Limit{Says: "no verdict: " + missing}
	}
	for _, rule := range rules {
		if says := rule.holds(e); says != "" {
			return result.Limit{Verdict: rule.verdict, Says: says}
		}
	}
	return result.Limit{Verdict: result.PathLimited, Says: "neither end was at its limit: " + e.ends()}
}

// rules are asked in turn. What was lost, unless a sender's want of CPU cost more, comes before who was busy: a sender
// without a target is always busy, and what its packets came to shows behind it.
var rules = []struct {
	verdict string
	holds   func(evidence) string // what to say, "" where it does not hold
}{
	{result.RateReached, evidence.kept},
	{result.GeneratorLimited, evidence.lostLess},
	{result.ReceiverLimited, evidence.overflowed},
	{result.ReceiverLimited, evidence.drowned},
	{result.ReceiverLimited, evidence.stoodStill},
	{result.GeneratorLimited, evidence.crowded},
	{result.PathLimited, evidence.leaky},
	{result.PathLimited, evidence.wasAway},
	{result.PathLimited, evidence.fullPort},
	{result.PathLimited, evidence.turnedBack},
	{result.GeneratorLimited, evidence.heldUp},
	{result.GeneratorLimited, evidence.starved},
	{result.GeneratorLimited, evidence.ownRate},
	{result.ReceiverLimited, evidence.shortReceiver},
	{result.GeneratorLimited, evidence.shortSender},
	{result.PathLimited, evidence.queuedWindow},
	{result.ReceiverLimited, evidence.windowClosed},
	{result.ReceiverLimited, evidence.receiverBusy},
	{result.ReceiverLimited, evidence.receiverStarved},
	{result.PathLimited, evidence.pathOnSender},
	{result.GeneratorLimited, evidence.senderBusy},
	{result.PathLimited, evidence.fellBehind},
	{result.GeneratorLimited, evidence.smallBuffer},
	{result.GeneratorLimited, evidence.ranDry},
	{result.PathLimited, evidence.crowdedOut},
	{result.GeneratorLimited, evidence.missedIt},
	{result.PathLimited, evidence.refused},
	{result.GeneratorLimited, evidence.unfed},
	{result.ReceiverLimited, evidence.undrained},
	{result.ReceiverLimited, evidence.receiverStood},
	{result.GeneratorLimited, evidence.senderStood},
}

// kept: what was asked for was sent, or as much of it as leaves whole, and came.
func (e evidence) kept() string {
	due := e.due
	if e.whole > 0 || e.lacks > 0 {
		due = min(due, e.sent)
	}
	came := reached*due - e.one
	if e.loss >= lossy { // what is known to be lost is no part of a message under way
		came = reached * due
	}
	if e.target == 0 || !e.sentAll(e.sent) || e.received < came {
		return ""
	}
	says := fmt.Sprintf("%s of the %s asked for arrived", e.rate(e.received), e.rate(e.target))
	switch {
	case max(e.whole, e.lacks) > e.one && e.sent < reached*e.target:
		says += ": no more whole blocks or bursts were due"
	case e.due < reached*e.target:
		says += ": no more requests were due at random"
	case e.plenty && e.received > e.target:
		says += ": more requests were due at random"
	case e.beyond:
		says += ": more than was sent in the window, as some had waited before it"
	}
	return says
}

// sentAll, of so much a second: the sender missed the rate by no more than what it sends at once; of what leaves whole as many left as are surely due.
func (e evidence) sentAll(sent float64) bool {
	least := reached*e.due - e.one
	if e.whole > e.one {
		due := math.Floor(reached*e.target/e.whole) * e.whole // a window ends before or behind the last of a round number
		least = min(least, max(reached*e.target-e.whole, reached*due))
	}
	if e.lacks > 0 {
		least = min(least, reached*e.target-e.lacks)
	}
	return sent >= least
}

// lostLess: of what was asked for, more never left a sender that had no CPU than was lost behind it.
func (e evidence) lostLess() string {
	if e.loss == 0 || e.short() <= e.loss {
		return "" // where nothing was, what else there is to say of both ends comes first
	}
	return e.heldUp()
}

func (e evidence) overflowed() string {
	if e.socketDrops < overflowing || e.socketDrops < e.loss/2 {
		return ""
	}
	return fmt.Sprintf("the receiving socket's buffer overflowed and lost %s of the packets: the receiver took them too slowly", percent(e.socketDrops))
}

func (e evidence) drowned() string {
	if e.loss < lossy || e.receiverSpins || e.receiverMost < busy {
		return ""
	}
	return fmt.Sprintf("%s of the packets were lost while the receiver's threads were busy %s", percent(e.loss), busyWords(e.receiver, e.receiverMost))
}

// stoodStill: what came while the receiver's program was stopped it read late, and where that was at the window's end, its window is so
// much longer. (Within the window it misses nothing, or its sockets overflowed, which is known.)
func (e evidence) stoodStill() string {
	if e.asks && e.loss >= lossy && e.receiverStill >= e.loss/2 { // it answered some too late
		return stillWords("receiver", e.receiverStill)
	}
	if e.longer <= 1-reached || e.stood < e.longer/2 {
		return ""
	}
	return stillWords("receiver", e.stood)
}

// crowded: a program of others that polls on a CPU which it shares gets what is left of that, and so shows no path's rate. What was
// lost meanwhile says nothing else: whoever counts may be what it shares the CPU with.
func (e evidence) crowded() string {
	if !e.polls || e.turnedAway >= overflows {
		return ""
	}
	return e.starved()
}

func (e evidence) leaky() string {
	if e.loss < lossy {
		return ""
	}
	if e.asks { // what is late by more than anybody waits is not lost
		return fmt.Sprintf("%s of the requests had no answer for as long as one was waited for: %s", percent(e.loss), e.ends())
	}
	return fmt.Sprintf("%s of the packets were lost on the way: %s", percent(e.loss), e.ends())
}

// wasAway: without a rate a short while says little of the rest.
func (e evidence) wasAway() string {
	short := e.short()
	if e.away == 0 || e.target > 0 && (short == 0 || e.away < short/2) || e.target == 0 && e.away < waiting {
		return ""
	}
	return fmt.Sprintf("the sender's system had no way to the receiver for %s of the time: %s", percent(e.away), e.awayWhy)
}

// fullPort: a generator that polls is always busy; that it was too fast for its port shows by what that did not take.
func (e evidence) fullPort() string {
	if e.turnedAway < overflows {
		return ""
	}
	return fmt.Sprintf("the sender's port was full: it turned away %s of what the generator offered", percent(e.turnedAway))
}

// turnedBack: the sender was ready to send all that was asked for. Frames of a rate are sent by threads that spin, and so always busy.
func (e evidence) turnedBack() string {
	if e.refusedFrames < overflows*e.due || e.short() == 0 || e.sent+e.refusedFrames < reached*e.due-e.one {
		return ""
	}
	return fmt.Sprintf("the sender offered what was asked for, and its interface turned %s of it away", percent(e.refusedFrames/(e.sent+e.refusedFrames)))
}

// covered: the path lacked nothing while the sender had no CPU, or slept. Its connections had data to send all the same, by the kernel, which
// was handed it ahead, or over so short a way that what is under way waits to leave; or a queue on the way grew; or its sockets were full.
func (e evidence) covered(short float64) bool {
	return e.held >= short/2 || (e.kernelPaces || e.nearby) && e.underWay > 1-short/2 || e.queued >= short/2
}

// heldUp: a paced sender that falls behind by more than its burst does not catch
// up, so what it waited for a CPU is what it fell short of, or half of that.
func (e evidence) heldUp() string {
	short := e.short()
	if short == 0 || e.wait < short/2 || e.covered(short) {
		return ""
	}
	return fmt.Sprintf("the sender fell %s short of the rate asked for while its threads could run and had no CPU for %s of the time", percent(short), percent(e.wait))
}

func (e evidence) starved() string {
	if e.wait < waiting || e.sender+e.wait < busy && !e.heldTheLoop(e.sender, e.wait) {
		return ""
	}
	return fmt.Sprintf("the sender's threads could run and had no CPU for %s of the time: give them CPUs of their own", percent(e.wait))
}

// heldTheLoop: where nothing is asked before an answer has come, either end's wait for a CPU is part of each round trip. One that takes
// most of these, and more of them for a CPU than by it, is what they last. (Threads that wake each other on one CPU wait for less
// than they work. Of more at a time, or in more packets, the path carries the rest meanwhile, and where it soon has, the thread is
// never without work.)
func (e evidence) heldTheLoop(worked, waited float64) bool {
	return e.inTurn && e.target == 0 && !e.spins && waited >= worked && worked+waited >= mostOfTime
}

// ownRate: as fast as the generator goes where no path is in its way.
func (e evidence) ownRate() string {
	if e.calibrated == 0 || !e.flatOut() || e.perSecond < calibrated*e.calibrated {
		return ""
	}
	if e.perSecond > e.calibrated {
		return fmt.Sprintf("the sender's threads were busy %s and reached more than when they were calibrated without a path", busyWords(e.sender, e.senderMost))
	}
	return fmt.Sprintf("the sender's threads were busy %s and reached %s of what they reach without a path",
		busyWords(e.sender, e.senderMost), percent(e.perSecond/e.calibrated))
}

// windowClosed: of a rate it is half of what that lacks, where the connections had nothing under way but for that, for as much of the
// time as the rate lacks: before a path that takes no more there is always something.
func (e evidence) windowClosed() string {
	short := e.short()
	alone := short > 0 && e.rwnd >= short/2 && e.underWay-e.rwnd < 1-short
	if e.rwnd < mostOfTime && !alone {
		return ""
	}
	says := fmt.Sprintf("the receiver's TCP window was closed for %s of the time (rwnd-limited)", percent(e.rwnd))
	if e.receiverKnown {
		says += ", its threads busy " + percent(e.receiver)
	}
	return says
}

func (e evidence) receiverBusy() string {
	if e.receiverSpins || e.receiverMost < busy || e.receiverMost < e.senderMost {
		return ""
	}
	says := "the receiver's threads were busy " + busyWords(e.receiver, e.receiverMost)
	if e.senderKnown {
		says += ", the sender's " + percent(e.sender)
	}
	return says
}

// receiverStarved: as starved, where the receiver had less time left than the sender.
func (e evidence) receiverStarved() string {
	have := e.receiver + e.receiverWait
	if e.receiverSpins || e.receiverWait < waiting || have < e.sender+e.wait || have < busy && !e.heldTheLoop(e.receiver, e.receiverWait) {
		return ""
	}
	return fmt.Sprintf("the receiver's threads could run and had no CPU for %s of the time: give them CPUs of their own", percent(e.receiverWait))
}

// pathOnSender: busy, and yet slower than without the path, so what kept the
// thread busy was the path's own work, done in its system calls.
func (e evidence) pathOnSender() string {
	if e.calibrated == 0 || !e.flatOut() {
		return ""
	}
	return fmt.Sprintf("the sender's threads were busy %s, but with the path's work: they reached %s of what they reach without a path",
		busyWords(e.sender, e.senderMost), percent(e.perSecond/e.calibrated))
}

func (e evidence) senderBusy() string {
	if !e.flatOut() {
		return ""
	}
	return fmt.Sprintf("the sender's threads were busy %s, and it is not known what they reach without a path (not calibrated)", busyWords(e.sender, e.senderMost))
}

// fellBehind: a full socket is then one of requests that wait for their turn, and a larger one would hold more of them.
func (e evidence) fellBehind() string {
	if e.behind == 0 {
		return ""
	}
	return fmt.Sprintf("the answers came until the end, and were behind by %d requests: the path or the peer carries fewer; %s", e.behind, e.ends())
}

func (e evidence) smallBuffer() string {
	if e.sndbuf < mostOfTime {
		return ""
	}
	return fmt.Sprintf("the sender's socket buffer was full for %s of the time (sndbuf-limited): make it larger", percent(e.sndbuf))
}

// missedIt: a thread that wakes later than its burst lasts sends less than it may, which is the path's rate all the same where that
// lacked nothing meanwhile, or was what kept the thread from its CPU.
func (e evidence) missedIt() string {
	short := e.short()
	if short == 0 || e.missed-e.behindPath < short/2 || e.covered(short) {
		return ""
	}
	return fmt.Sprintf("the sender fell %s short of the rate asked for, %s because its threads woke later than its burst catches up with", percent(short), percent(min(short, e.missed)))
}

// ranDry: before a path that takes no more there is always something under way, as there is of what the kernel paces and was handed
// ahead. A bucket's connections have little under way also where a path stood still for a while and was open for the rest: then their
// sockets were full for that while.
func (e evidence) ranDry() string {
	short := e.short()
	if !e.bucket && !e.kernelPaces || short == 0 || e.underWay == 0 || e.underWay > 1-short/2 || e.held >= short/2 {
		return ""
	}
	says := fmt.Sprintf("the sender fell %s short of the rate asked for while its connections had nothing under way for %s of the time: ", percent(short), percent(1-e.underWay))
	if e.kernelPaces {
		return says + "its threads did not hand more over in time"
	}
	return says + "its buckets hold too little to catch up with (burst)"
}

func (e evidence) crowdedOut() string {
	if e.behindPath < waiting || e.sender+e.wait+e.behindPath < busy {
		return ""
	}
	return fmt.Sprintf("the kernel's packet threads had the sender's CPU for %s of the time while the sender could have run", percent(e.behindPath))
}

// carried is for how much of the time the connections of a stream that goes as fast as it can had something under way, but for a share
// closed of it: before a path that takes no more that is always so. 1 where it is not known, as of requests, whose answers have the path
// meanwhile.
func (e evidence) carried(closed float64) float64 {
	if e.asks || e.target != 0 || e.underWay == 0 {
		return 1
	}
	return e.underWay - min(closed, e.underWay)
}

// unfed: an end without a CPU for most of the time was what they had nothing under way for.
func (e evidence) unfed() string {
	carried := e.carried(0) // a sender has no part in a window that is closed
	if carried > 1-waiting || e.wait < mostOfTime || e.wait < e.receiverWait {
		return ""
	}
	return unserved("sender", e.wait, carried)
}

func (e evidence) undrained() string {
	carried := e.carried(e.rwnd)
	if carried > 1-waiting || e.receiverSpins || e.receiverWait < mostOfTime {
		return ""
	}
	return unserved("receiver", e.receiverWait, carried)
}

// receiverStood and senderStood: a stream's ends, and those of requests, wait for each other, so that one whose program is stopped keeps the
// path from carrying.
func (e evidence) receiverStood() string {
	if !e.isCost(e.receiverStill, e.longer, max(e.idle(e.rwnd), e.longer)) || e.receiverStill < e.senderStill {
		return ""
	}
	return stillWords("receiver", e.receiverStill)
}

func (e evidence) senderStood() string {
	if !e.isCost(e.senderStill, e.shorter, e.idle(0)) {
		return ""
	}
	return stillWords("sender", e.senderStill)
}

// isCost tells whether an end that stood still for a share of the window, by more of which its own was longer than the other end's, is
// what the traffic lacks: where a rate was asked for, half of that at least. It is none for as long as the path had something to
// carry. Of what a receiver's window has behind the sender's that is not known, nor does anything leave there.
func (e evidence) isCost(still, longer, idle float64) bool {
	switch still = min(still, idle); {
	case still == 0:
		return false
	case longer > 1-reached && still >= longer/2:
		return true
	case e.target > 0:
		return still >= (1-e.received/e.due)/2
	}
	return still >= waiting
}

// idle is for how much of the sender's window the path may have had nothing to carry: of what the ends' buffers held, but for a share
// closed, of the time in which the receiver's was full.
func (e evidence) idle(closed float64) float64 {
	if e.underWay == 0 { // nobody tells
		return 1
	}
	return 1 - e.underWay + min(closed, e.underWay)
}

func stillWords(end string, still float64) string {
	return fmt.Sprintf("the %s's threads stood still for %s of the time: its program was stopped, or had no CPU", end, percent(still))
}

func unserved(end string, wait, carried float64) string {
	return fmt.Sprintf("the %s's threads could run and had no CPU for %s of the time, and the path was given nothing to carry for %s of it", end, percent(wait), percent(1-carried))
}

func (e evidence) refused() string {
	if e.refusals == 0 {
		return ""
	}
	if e.asks {
		return fmt.Sprintf("%d requests were due and not sent: as many as may be were under way, or the socket took none", e.refusals)
	}
	return fmt.Sprintf("the sender's system turned %d sends away: the interface took no more", e.refusals)
}
