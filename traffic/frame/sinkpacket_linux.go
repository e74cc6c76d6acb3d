package frame

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	snapLength        = 128 // of each frame: all headers and the number
	packetSinkBuffers = 64
	packetSinkMemory  = 32 << 20 // bytes of socket buffer
	protocolIPv4      = 0x0800
	protocolIPv6      = 0x86dd
)

var (
	_ grower   = (*packetSink)(nil)
	_ spreader = (*packetSink)(nil)
)

// packetSink counts in a hot thread what an AF_PACKET socket sees. The frames go
// on to the stack, where reserved sockets take them.
type packetSink struct {
	fd       int
	why      string
	clock    traffic.ThreadClock
	called   atomic.Uint64
	stopped  atomic.Bool
	expected expected
	memory   *sequences
	frames   [packetSinkBuffers][snapLength]byte
	vectors  [packetSinkBuffers]unix.Iovec
	messages [packetSinkBuffers]traffic.Message
	sums     [phases]totals // the thread's own
	floor    traffic.Floor  // of the window's frames that tell when they left, likewise
	latest   int64          // how long the one before was on its way, in units of 64 ns
	thread   sync.WaitGroup
	unhold   func()

	mu        sync.Mutex
	published [phases]totals
	least     traffic.Floor
	failure   error
	drops     uint64
}

func newPacketSink(e expected, d device, cpu int) (*packetSink, error) {
	protocol := uint16(protocolIPv4)
	if e.ipv6 {
		protocol = protocolIPv6
	}
	fd, err := openPacket(d.index, protocol)
	if err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, packetSinkMemory) // else the default; drops are counted
	const ignoreOutgoing = 23                                                          // PACKET_IGNORE_OUTGOING, Linux 4.20
	_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, ignoreOutgoing, 1)                     // of use on the loopback device only
	s := &packetSink{fd: fd, expected: e, memory: newSequences(e.flows), unhold: traffic.HoldHot(1)}
	for i := range s.frames {
		s.vectors[i].Base = &s.frames[i][0]
		s.vectors[i].SetLen(snapLength)
		s.messages[i].Header.Iov = &s.vectors[i]
		s.messages[i].Header.SetIovlen(1)
	}
	s.thread.Go(func() { s.run(cpu) })
	return s, nil
}

// run is the goroutine of the thread. It ends without unlocking.
func (s *packetSink) run(cpu int) {
	runtime.LockOSThread()
	s.clock.Begin()
	defer s.clock.End()
	err := traffic.DeafenThread()
	if err == nil && cpu >= 0 {
		err = traffic.PinThread(cpu)
	}
	for err == nil && !s.stopped.Load() {
		switch errno := s.burst(); errno {
		case 0, unix.EAGAIN, unix.EINTR:
		case unix.ENETDOWN: // once; when the device is up again, the kernel goes on (packet_notifier)
		default:
			err = fmt.Errorf("receiving by AF_PACKET: %w", errno)
		}
		s.publish()
	}
	s.mu.Lock()
	s.failure = err
	s.mu.Unlock()
}

// burst is hot; it returns before the next reading of the counters is due.
//
//go:nosplit
func (s *packetSink) burst() syscall.Errno {
	const calls = 32
	for i := 0; i < calls && !s.stopped.Load(); i++ {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.messages)), packetSinkBuffers, unix.MSG_WAITFORONE|unix.MSG_TRUNC, 0, 0)
		s.called.Add(1)
		if errno != 0 {
			return errno
		}
		for k := range int(n) {
			s.take(s.frames[k][:], int(s.messages[k].Length))
		}
		if n < packetSinkBuffers {
			return 0
		}
	}
	return 0
}

//go:nosplit
func (s *packetSink) take(b []byte, length int) {
	n, err := s.expected.parse(b[:min(len(b), length)], length)
	switch err {
	case nil:
		s.memory.count(&s.sums[n.phase], n, s.expected.sizes.of(n))
		if from := s.expected.leftOf(b); from != 0 && n.phase == window {
			s.time(from)
		}
	case errCorrupt:
		if together := s.expected.together(b, length, n); together > 1 {
			s.sums[n.phase&(phases-1)].merged += uint64(together)
			return
		}
		s.sums[n.phase&(phases-1)].corrupt++
	}
}

//go:nosplit
func (s *packetSink) time(left uint64) {
	now := monotonic()
	s.latest += later(left, now, s.latest)
	transit := s.latest << leftUnit
	s.floor.Note(now-transit, transit)
}

// publish does not wait for a reader, who will come again.
func (s *packetSink) publish() {
	if s.mu.TryLock() {
		s.published, s.least = s.sums, s.floor
		s.mu.Unlock()
	}
}

func (s *packetSink) tally() (tally, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all tally
	for phase, t := range s.published {
		all.add(atSocket, phase, t)
	}
	return all, s.failure
}

// expect has nothing to do: a floor finds its parts' length by itself.
func (s *packetSink) expect(time.Duration) error { return nil }

func (s *packetSink) grown() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.least.Rise()), nil
}

func (s *packetSink) perFlow() (result.PerFlow, error) { return s.memory.spread(), nil }

func (s *packetSink) method() (how, why string) { return byPacket, s.why }

// dropped is what the socket's buffer had no room for, so far: the kernel forgets
// what it has told (PACKET_STATISTICS in packet(7)).
func (s *packetSink) dropped() uint64 {
	stats, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err == nil {
		s.drops += uint64(stats.Drops)
	}
	return s.drops
}

// used is the thread's CPU time and calls.
func (s *packetSink) used() (time.Duration, uint64) {
	return s.clock.CPU(), s.called.Load()
}

func (s *packetSink) close() error {
	s.stopped.Store(true)
	s.thread.Wait()
	s.unhold()
	return unix.Close(s.fd)
}
