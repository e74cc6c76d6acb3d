package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// heldBack is the share of the time from which waiting for something is a cause, beyond the other cell's.
const heldBack = 0.20

// ofConnections is a part of the senders' connections' time, as a share of the window (tcp_info, linux/tcp.h).
func ofConnections(seconds func(result.Connection) float64) value {
	return func(_ Cell, t result.Trial) (float64, bool) {
		sum, all := 0.0, 0.0
		for _, p := range t.Pairs {
			for _, end := range p.Senders() {
				for _, connection := range end.Connections {
					sum += seconds(connection)
					all += end.WindowSeconds
				}
			}
		}
		if !(all > 0) {
			return 0, false
		}
		return math.Min(1, sum/all), true
	}
}

// buffers is the mean size of a socket buffer, in bytes, at the ends of a trial.
func buffers(ends func(result.PairSample) []result.PairEnd, size func(result.Connection) int) value {
	return func(_ Cell, t result.Trial) (float64, bool) {
		sum, n := 0.0, 0.0
		for _, p := range t.Pairs {
			for _, end := range ends(p) {
				for _, connection := range end.Connections {
					sum, n = sum+float64(size(connection)), n+1
				}
			}
		}
		return sum / math.Max(n, 1), n > 0 && sum > 0
	}
}

// waited is a cause by which TCP did nothing for a part of the time, more than in the other cell; says is what it did.
func (c contrast) waited(factor, says string, seconds func(result.Connection) float64) (Cause, bool) {
	waits := c.two(ofConnections(seconds))
	w, b := waits.means()
	if !waits.known() || w-b < heldBack {
		return Cause{}, false
	}
	worse, better := c.names()
	return Cause{Factor: factor, Share: notKnown(), rank: rank{bound, w - b},
		Says: fmt.Sprintf("TCP %s for %s of the time in %s, %s in %s", says, percent(w), worse, percent(b), better)}, true
}

// windowCause is a sender that waited for the receiver's window. A receiver whose CPU is full closes it as well, and
// then that is the cause; one with a smaller buffer, or with time to spare, does not let more come.
func windowCause(c contrast) []Cause {
	cause, held := c.waited("receive-window", "waited for the receiver to take data, its window being full,",
		func(t result.Connection) float64 { return t.RwndLimitedSeconds })
	if !held {
		return nil
	}
	size := c.two(buffers(result.PairSample.Receivers, func(t result.Connection) int { return t.ReceiveBufferBytes }))
	ratio, differs := size.ratio()
	if size.known() {
		cause.Evidence = append(cause.Evidence, c.compared("%.0f bytes of receive buffer", size))
	}
	if _, cpu, full := c.fullCPU(atReceiver); full && !(differs && ratio < 1/noteworthy) {
		cause.rank.order = seen
		cause.Evidence = append(cause.Evidence, "the receiver's CPU was full, so that it took data late: "+split(cpu))
	}
	return []Cause{cause}
}

// sendBufferCause is a sender whose socket had no room for more data under way.
func sendBufferCause(c contrast) []Cause {
	cause, held := c.waited("send-buffer", "was held up by the size of the send buffer",
		func(t result.Connection) float64 { return t.SndbufLimitedSeconds })
	if !held {
		return nil
	}
	if size := c.two(buffers(result.PairSample.Senders, func(t result.Connection) int { return t.SendBufferBytes })); size.known() {
		cause.Evidence = append(cause.Evidence, c.compared("%.0f bytes of send buffer", size))
	}
	return []Cause{cause}
}

// applicationCause is a sender whose connections had nothing to send. Where that is for the most part because it had no CPU,
// generatorCause tells of it, and this was only seen.
func applicationCause(c contrast) []Cause {
	busy := c.two(ofConnections(func(t result.Connection) float64 { return t.BusySeconds }))
	w, b := busy.means()
	if !busy.known() || b-w < heldBack {
		return nil
	}
	worse, better := c.names()
	order := bound
	if waits := c.two(senderWait); waits.known() {
		if worse, better := waits.means(); worse-better > (b-w)/2 {
			order = seen
		}
	}
	return []Cause{{Factor: "application", Share: notKnown(), rank: rank{order, b - w},
		Says: fmt.Sprintf("TCP had nothing to send for %s of the time in %s, %s in %s: who sends was the limit, and not the path", percent(1-w), worse, percent(1-b), better)}}
}
