package stream

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// The bounds of a burst. Whoever stops the world waits for it, and a server that
// gets a client does so while others are being served.
const (
	burstTime  = 20 * time.Millisecond
	burstCalls = 1 << 16
	// longestBurst is after how long one ends that was meant to be shorter: its peer was fast and has become slow. That is looked at
	// after each lookEvery calls, as it is a system call itself (some 100 ns), and each may take as long as patience allows.
	longestBurst = 5 * burstTime
	lookEvery    = 8
)

// begin lets a burst begin.
func (t *thread) begin() { t.until = t.coarse() + longestBurst.Nanoseconds() }

// late tells, after so many calls, whether the burst has gone on for too long.
//
//go:nosplit
func (t *thread) late(calls int) bool {
	return calls%lookEvery == lookEvery-1 && t.coarse() > t.until
}

// coarse is CLOCK_MONOTONIC in ns, as of the last tick: to some milliseconds.
//
//go:nosplit
func (t *thread) coarse() int64 {
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC_COARSE, uintptr(unsafe.Pointer(&t.tick)), 0)
	return t.tick.Nano()
}

// learn bounds the next burst by how long the calls of the last one took, with the
// wait for them: it may double, or fall at once. A thread whose calls take long waits for its sockets in a call that the Go
// runtime knows of, which holds nobody up.
func (t *thread) learn(took time.Duration, calls uint64) {
	each := max(1, took/time.Duration(max(1, calls)))
	t.bound = min(2*t.bound, max(1, int(burstTime/each)), burstCalls)
	t.gentle = each > traffic.SwiftCall && t.flows[0].bucket == nil
	if t.gentle {
		t.bound = 1
	}
}

// A receiver of one flow is woken when waterTime's worth of the last burst's rate
// has come, most mostWater. TCP acknowledges at once what comes before that (see
// __tcp_ack_snd_check in net/ipv4/tcp_input.c) instead of when it is read, so that
// the sender's packets leave evenly: 30 % more arrived where they were discarded.
const (
	waterTime = 200 * time.Microsecond
	mostWater = 512 << 10
)

// wait sets by the last burst what the receiver waits for and takes at once, and whether it dozes.
func (t *thread) wait(took time.Duration, moved uint64) {
	if t.small {
		t.trial.note(t.dozes, took, moved)
	}
	t.call, t.dozes = t.least, false
	if d, should := t.doze(); should {
		asleep := int(float64(moved) * float64(d.nap) / float64(max(1, took)))
		room, err := unix.GetsockoptInt(int(t.flows[0].fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		if t.dozes = err == nil && asleep >= dozeLeast && asleep <= room/dozeRoom; t.dozes {
			t.call, t.nap = min(t.call, d.call), unix.NsecToTimespec(int64(d.nap))
		}
		if t.dozes || !t.small {
			moved = 0
		}
	}
	if t.prompt {
		moved = 0
	}
	t.lowWater(took, moved)
	if !t.dozes {
		t.call = min(t.buffer.size, max(t.least, uintptr(t.water)))
	}
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
