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
			least = buffers{holds: holds, window: c.CongestionWindow * c.MSS}
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

// shortBuffers: where the buffers hold less than congestion control would let be under way, that is not what bounds it, and the ends fill
// and drain them in turn. A path that has a queue of its own is the limit all the same, and tells it by round trips that neither the ends'
// work nor the path's length account for: the longer they are, the less of the time the ends take.
func (e evidence) shortBuffers() string {
	b := e.buffers
	inTurn := e.sender + e.receiver + e.wait + e.receiverWait + b.empty
	switch {
	case b.holds == 0 || b.holds >= b.window, e.asks, e.target > 0 && e.short() == 0:
		return ""
	case e.rwnd+e.sndbuf < waiting, inTurn < mostOfTime:
		return ""
	case max(e.senderMost, e.receiverMost) >= busy, max(e.wait, e.receiverWait) >= mostOfTime: // more room would bring little
		return ""
	}
	return fmt.Sprintf("the sockets' buffers hold %d bytes, where the congestion window would let %d be under way: the receiver's was full for %s of the time (rwnd-limited), the sender's for %s (sndbuf-limited): make them larger",
		b.holds, b.window, percent(e.rwnd), percent(e.sndbuf))
}
