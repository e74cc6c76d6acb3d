package datagram

import (
	"math"
	"slices"
)

// The methods of result.Offered and result.Arrived.
const (
	methodSegment  = "udp-segment"
	methodSendmmsg = "sendmmsg"
	methodSend     = "send" // one datagram a call
	methodGRO      = "udp-gro"
	methodRecvmmsg = "recvmmsg"
	methodReceive  = "recv" // likewise
)

// Sending is how the datagrams leave, Why why not in a better way: "udp-segment",
// "sendmmsg" or "send". It is known when datagrams have been sent.
func (e *Engine) Sending() (method, why string) {
	for _, t := range e.threads {
		if t.send == nil {
			continue
		}
		m, w := t.send.batch.how()
		if method = m; w != "" {
			return m, w
		}
	}
	return method, ""
}

// Receiving is how they come: "udp-gro", "recvmmsg" or "recv".
func (e *Engine) Receiving() (method, why string) {
	for _, t := range e.threads {
		if t.receive == nil {
			continue
		}
		for _, in := range t.receive.inlets {
			if method, why = in.socket.how(); why != "" {
				return method, why
			}
		}
	}
	return method, why
}

// Raised tells whether a receiving thread took a higher priority than it was given, at some time.
func (e *Engine) Raised() bool {
	return slices.ContainsFunc(e.threads, func(t *thread) bool { return t.receive != nil && t.receive.raised.Load() })
}

// Polled tells whether a receiving thread polled before it slept, at some time.
func (e *Engine) Polled() bool {
	return slices.ContainsFunc(e.threads, func(t *thread) bool { return t.receive != nil && t.receive.polled.Load() })
}

// PollGain is how many times as many bytes a second came in a receiver's trial while it polled as while it slept; 0 where none
// was made, or came to its end.
func (e *Engine) PollGain() (gain float64) {
	for _, t := range e.threads {
		if t.receive != nil {
			gain = max(gain, math.Float64frombits(t.receive.gain.Load()))
		}
	}
	return gain
}

// Burst is how many datagrams the engine may send at once after it was late,
// over all threads.
func (e *Engine) Burst() int {
	depth := 0
	for _, t := range e.threads {
		if t.send != nil {
			depth += t.send.depth
		}
	}
	return depth
}
