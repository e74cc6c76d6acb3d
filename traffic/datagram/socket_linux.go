package datagram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"unsafe"

	"windtunnel/traffic"

	"golang.org/x/sys/unix"
)

// socket is a UDP socket outside of net and its poller: hot threads use it as a
// blocking descriptor whose calls are bounded by patience.
type socket struct {
	fd        int
	connected bool
	own       bool // its peer is on this very host
	six       bool
	gro       bool
	noGRO     string // why not
	noCut     error  // why the kernel cannot cut what is sent
	once      sync.Once

	space   *fullBuffers // of its network namespace; nil: not known
	mu      sync.Mutex
	dropped uint64
	last    uint32 // the kernel's counter
	full    uint64 // of dropped, those for which there was no room
}

// Buffers that hold what arrives while the thread has no CPU for a while, and
// that do not make a sender wait for each segment. Where datagrams come as fast as
// it goes, any buffer is full, and one that caches hold is emptied faster; but it must hold what a stack of the same CPU
// brings while it has that, up to a scheduler's tick: of 1 MiB a quarter was lost there, for want of room.
const (
	receiveBuffer = 16 << 20
	floodBuffer   = 4 << 20
	sendBuffer    = 4 << 20
)

func takeOver(conn *net.UDPConn, c Config) (*socket, error) {
	s := &socket{fd: -1}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(from uintptr) { s.fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("taking over a socket: %w", err)
	}
	peer, err := unix.Getpeername(s.fd) // net does not know what pairUp has done
	if s.connected = err == nil; s.connected {
		s.own = s.isOwn(peer)
	}
	conn.Close()
	if err := s.configure(c); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *socket) buffers() (send, receive int) {
	send, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	receive, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	return send, receive
}

// unread is the size of what came first of what was not read (SIOCINQ, udp(7)), in bytes: 0 also of an empty datagram.
func (s *socket) unread() int {
	n, _ := unix.IoctlGetInt(s.fd, unix.SIOCINQ)
	return n
}

func (s *socket) configure(c Config) error {
	domain, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return fmt.Errorf("asking for a socket's family: %w", err)
	}
	s.six = domain == unix.AF_INET6
	bound := unix.NsecToTimeval(patience.Nanoseconds())
	for _, option := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, option, &bound); err != nil {
			return fmt.Errorf("bounding a socket's calls: %w", err)
		}
	}
	if err := s.setBuffers(c); err != nil {
		return err
	}
	s.setGRO(c)
	_, s.noCut = unix.GetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_SEGMENT)
	s.last, _ = s.kernelDrops()
	if err := unix.SetNonblock(s.fd, false); err != nil {
		return fmt.Errorf("making a socket blocking: %w", err)
	}
	return nil
}

// setBuffers sets the size that was asked for, or takes what a chosen one brings.
func (s *socket) setBuffers(c Config) error {
	switch {
	case c.Buffer < 0:
		return nil
	case c.Buffer > 0:
		return traffic.SetBuffers(s.fd, c.Buffer, c.Buffer)
	}
	receive := receiveBuffer
	if c.BitsPerSecond == 0 && c.PacketsPerSecond == 0 {
		receive = floodBuffer
	}
	_ = traffic.SetBuffers(s.fd, sendBuffer, receive)
	return nil
}

// lacks is what the system did not give of buffers that were asked for.
func (s *socket) lacks(size int) error { return traffic.CheckBuffers(s.fd, size, size) }

func (s *socket) setGRO(c Config) {
	if c.Aggregation == offloadOff {
		s.noGRO = "switched off"
		return
	}
	err := unix.SetsockoptInt(s.fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	if s.gro = err == nil; err != nil {
		s.noGRO = fmt.Sprintf("the kernel has no UDP_GRO (%v): it came with Linux 5.0", err)
	}
}

// skMeminfoDrops is SK_MEMINFO_DROPS of linux/sock_diag.h: the place of the
// counter that SO_RXQ_OVFL tells with a packet, here without one.
const skMeminfoDrops = 8

func (s *socket) kernelDrops() (uint32, error) {
	info, known := s.memory()
	if known <= skMeminfoDrops {
		return 0, errors.New("the kernel does not tell a socket's drops")
	}
	return info[skMeminfoDrops], nil
}

// memory is what the kernel tells of a socket's buffers, so many values of it.
func (s *socket) memory() (info [16]uint32, known int) {
	size := uint32(unsafe.Sizeof(info))
	_, _, e := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if e != 0 {
		return info, 0
	}
	return info, int(size) / 4
}

// drops is what the socket's buffer had no room for since it was taken over.
func (s *socket) drops() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, err := s.kernelDrops(); err == nil {
		s.dropped += uint64(now - s.last)
		s.last = now
	}
	if s.space == nil {
		return s.dropped
	}
	if s.dropped > s.full {
		if full, known := s.space.of(s.dropped); known {
			s.full = max(s.full, full)
		}
	}
	return s.full
}

// close keeps the last count of what was dropped: the descriptor's number may be another socket's then.
func (s *socket) close() {
	s.once.Do(func() {
		s.drops()
		s.mu.Lock()
		defer s.mu.Unlock()
		unix.Close(s.fd)
		s.fd = -1
	})
}

// name is a socket address as the kernel writes it.
type name struct {
	bytes [unix.SizeofSockaddrInet6]byte
	size  uint32
}

// name is the kernel's form of a peer, empty for a connected socket.
func (s *socket) name(peer netip.AddrPort) (name, error) {
	var n name
	a := peer.Addr().Unmap()
	switch {
	case s.connected:
		return n, nil
	case !peer.IsValid():
		return n, errors.New("its socket is not connected: it needs a peer to send to")
	case a.Is6() && !s.six:
		return n, fmt.Errorf("an IPv4 socket cannot send to %s", peer)
	case !s.six:
		binary.NativeEndian.PutUint16(n.bytes[0:], unix.AF_INET)
		copy(n.bytes[4:], a.AsSlice())
		n.size = unix.SizeofSockaddrInet4
	default:
		binary.NativeEndian.PutUint16(n.bytes[0:], unix.AF_INET6)
		whole := a.As16()
		copy(n.bytes[8:], whole[:])
		zone, _ := net.InterfaceByName(a.Zone())
		if zone != nil {
			binary.NativeEndian.PutUint32(n.bytes[24:], uint32(zone.Index))
		}
		n.size = unix.SizeofSockaddrInet6
	}
	binary.BigEndian.PutUint16(n.bytes[2:], peer.Port())
	return n, nil
}

// addrPort is the address without its zone.
func (n *name) addrPort() netip.AddrPort {
	port := binary.BigEndian.Uint16(n.bytes[2:])
	switch binary.NativeEndian.Uint16(n.bytes[0:]) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(n.bytes[4:8])), port)
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(n.bytes[8:24])).Unmap(), port)
	}
	return netip.AddrPort{}
}

// spinNS is what is waited for by looking at the clock.
const spinNS = 5000

// sleepFor is how much of a wait a sender sleeps: none of one so short that a sleep
// would be longer, in which it looks at the clock again.
func sleepFor(ns int64) int64 {
	if ns < spinNS {
		return 0
	}
	return ns
}

// hurry wakes who waits for datagrams: else the call would end by patience. The kernel wakes them also on a socket that is not connected,
// of which it says so (inet_shutdown in net/ipv4/af_inet.c); what is in the buffer, and what is sent, is not concerned.
func (e *Engine) hurry() {
	for _, s := range e.sockets {
		s.mu.Lock()
		if s.fd >= 0 {
			_ = unix.Shutdown(s.fd, unix.SHUT_RD)
		}
		s.mu.Unlock()
	}
}

// takeAggregates lets a socket take what UDP_SEGMENT joined as it is; where it
// cannot, the kernel cuts it first.
func takeAggregates(conn *net.UDPConn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_GRO, 1) })
}
