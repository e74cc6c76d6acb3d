package stream

import (
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// The bounds of a burst. Whoever stops the world waits for it, and a server that
// gets a client does so while others are being served.
const (
	burstTime  = 20 * time.Millisecond
	burstCalls = 1 << 16
	// gentleCall is from which mean time of a call on a thread waits for its
	// sockets in a call that the Go runtime knows of, which holds nobody up.
	gentleCall = time.Millisecond
)

// learn bounds the next burst by how long the calls of the last one took, with the
// wait for them: it may double, or fall at once.
func (t *thread) learn(took time.Duration, calls uint64) {
	each := max(1, took/time.Duration(max(1, calls)))
	t.bound = min(2*t.bound, max(1, int(burstTime/each)), burstCalls)
	t.gentle = each > gentleCall && t.flows[0].bucket == nil
	if t.gentle {
		t.bound = 1
	}
}

// await waits, by patience at most, until a socket of a gentle thread is ready.
func (t *thread) await() (ready bool, err error) {
	wants := []unix.PollFd{{Fd: int32(t.flows[0].fd), Events: unix.POLLIN}}
	if t.role == traffic.Send {
		wants[0].Events = unix.POLLOUT
	}
	if t.poller != nil {
		wants[0] = unix.PollFd{Fd: int32(t.poller.fd), Events: unix.POLLIN}
	}
	n, err := unix.Poll(wants, int(patience.Milliseconds()))
	if err == unix.EINTR {
		return true, nil
	}
	return n > 0, err
}
