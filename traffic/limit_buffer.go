package traffic

import (
	"fmt"

	"windtunnel/result"
)

// buffers are what sockets hold whose size was asked for, the kernel tuning none of them. Their zero value: none was.
type buffers struct {
	holds  int     // bytes, of the connection that has least
	window int     // bytes that congestion control would let be under way there
	empty  float64 // round trip of an empty path, of the present one
	rtt    float64 // the present one, seconds
	mss    int     // bytes
	share  float64 // of all connections
}

// askedBuffers looks at both ends of each connection.
func askedBuffers(load result.Options, sender, receiver result.PairEnd) (least buffers) {
	sends, receives := load.Int("buffer"), max(load.Int("receive-buffer"), load.Int("buffer"))
	for i, c := range sender.Connections {
		holds := 0
		if sends > 0 {
			holds = c.SendBufferBytes
		}
		if i < len(receiver.Connections) && receives > 0 {
			if there := receiver.Connections[i].ReceiveBufferBytes; holds == 0 || there < holds {
				holds = there
			}
		}
		if holds > 0 && (least.holds == 0 || holds < least.holds) {
			least = buffers{holds: holds, window: c.CongestionWindow * c.MSS, rtt: c.RTTSeconds, mss: c.MSS, share: 1 / float64(len(sender.Connections))}
			if c.RTTSeconds > 0 {
				least.empty = min(1, c.MinRTTSeconds/c.RTTSeconds)
			}
		}
	}
	return least
}

// shortReceiver and shortSender are of the end that was waited for more.
func (e evidence) shortReceiver() string {
	if e.rwnd < e.sndbuf {
		return ""
	}
	return e.shortBuffers()
}

func (e evidence) shortSender() string { return e.shortBuffers() }

// inEnds is about the share of a round trip that the ends' work and the path's length account for. The rest is a queue's on the way.
func (e evidence) inEnds() float64 {
	return e.sender + e.receiver + e.wait + e.receiverWait + e.buffers.empty
}

// fewSegments may wait for an acknowledgement that their receiver delays (RFC 9293, section 3.8.6.3), in which no queue has a part.
const fewSegments = 4

// queuedWindow: small buffers are full most of the time before a path that takes no more, too, as all that they hold waits there: then as
// much comes in a round trip as they hold, about, whatever each of them counts beside the payload, and larger ones would wait for longer.
// An end that stood still would be why, too, so both have to tell.
func (e evidence) queuedWindow() string {
	b := e.buffers
	perTrip := b.share * e.received / 8 * b.rtt
	switch {
	case b.holds < fewSegments*b.mss || b.mss == 0, e.asks, e.packets, e.rwnd+e.sndbuf < mostOfTime:
		return ""
	case !e.senderKnown || !e.receiverKnown, max(e.senderStill, e.receiverStill) >= waiting, max(e.senderMost, e.receiverMost) >= busy:
		return ""
	case b.empty == 0, e.inEnds() >= mostOfTime, perTrip < float64(b.holds)/4, perTrip > float64(b.holds)*4:
		return ""
	}
	return fmt.Sprintf("what the sockets' buffers hold, %d bytes, waited on the way: a round trip took %.3g ms, of an empty path %.3g ms; %s",
		b.holds, 1e3*b.rtt, 1e3*b.rtt*b.empty, e.ends())
}

// shortBuffers: where the buffers hold less than congestion control would let be under way, that is not what bounds it, and the ends fill
// and drain them in turn. A path that has a queue of its own is the limit all the same, and tells it by round trips that neither the ends'
// work nor the path's length account for: the longer they are, the less of the time the ends take.
func (e evidence) shortBuffers() string {
	b := e.buffers
	switch {
	case b.holds == 0 || b.holds >= b.window, e.asks, e.target > 0 && e.short() == 0:
		return ""
	case e.rwnd+e.sndbuf < waiting, e.inEnds() < mostOfTime:
		return ""
	case max(e.senderMost, e.receiverMost) >= busy, max(e.wait, e.receiverWait) >= mostOfTime: // more room would bring little
		return ""
	}
	return fmt.Sprintf("the sockets' buffers hold %d bytes, where the congestion window would let %d be under way: the receiver's was full for %s of the time (rwnd-limited), the sender's for %s (sndbuf-limited): make them larger",
		b.holds, b.window, percent(e.rwnd), percent(e.sndbuf))
}
