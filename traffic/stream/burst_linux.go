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

// A receiver of one flow is woken when waterTime's worth of the last burst's rate
// has come, most mostWater. TCP acknowledges at once what comes before that (see
// __tcp_ack_snd_check in net/ipv4/tcp_input.c) instead of when it is read, so that
// the sender's packets leave evenly: 30 % more arrived where they were discarded.
// Where the stack works on another CPU, as between virtual devices it does on the
// sender's, which is full, acknowledging there instead of where it is read cost a
// tenth: such a receiver is woken for whatever comes, and dozes.
const (
	waterTime = 200 * time.Microsecond
	mostWater = 512 << 10
)

// A receiver that dozes sleeps for dozeTime after each call that did not fill, so
// that nobody need wake it up for each aggregate, which on the stack's CPU took the
// sender's time: a sixth more arrived on a wire as memory (50 us: no more). It does
// so while dozeLeast or more come in that time, since who sends less is not busy
// with waking, and no more than one part in dozeRoom of the socket's buffer, so that
// the sleep never is what closes the window.
const (
	dozeTime  = 20 * time.Microsecond
	dozeLeast = 16 << 10
	dozeRoom  = 8
)

// wait sets what the receiver waits for by its last burst, and whether it dozes.
func (t *thread) wait(took time.Duration, moved uint64) {
	socket := int(t.flows[0].fd)
	t.dozes = false
	if traffic.StackElsewhere(socket) {
		asleep := int(float64(moved) * float64(dozeTime) / float64(max(1, took)))
		room, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF)
		t.dozes = err == nil && asleep >= dozeLeast && asleep <= room/dozeRoom
		moved = 0
	}
	t.lowWater(took, moved)
}

// lowWater sets SO_RCVLOWAT by the rate of the last burst. Within the socket's
// patience the kernel hands over what there is, so a rate that falls is seen.
func (t *thread) lowWater(took time.Duration, bytes uint64) {
	water := int(float64(bytes) * float64(waterTime) / float64(max(1, took)))
	water = min(max(1, water), mostWater)
	if water <= t.water && water > t.water/2 || water > t.water && water < 2*t.water && water < mostWater {
		return // near enough
	}
	if unix.SetsockoptInt(int(t.flows[0].fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, water) == nil {
		t.water = water
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
