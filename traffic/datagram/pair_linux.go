package datagram

import (
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// pairUp connects a bound socket to the one peer that it hears. The kernel then keeps what strangers send from it,
// knows the way in of each datagram without asking its routes (udp_v4_early_demux in net/ipv4/udp.c), and tells
// on which CPU the stack hands them over (SO_INCOMING_CPU, which __udp_queue_rcv_skb notes for connected sockets
// alone). A socket that cannot be connected hears everybody, as before.
func pairUp(conn *net.UDPConn, peer netip.AddrPort) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		domain, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		if err != nil {
			return
		}
		s := socket{fd: int(fd), six: domain == unix.AF_INET6}
		if to, err := s.name(peer); err == nil {
			syscall.Syscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&to.bytes[0])), uintptr(to.size))
		}
	})
}

// elsewhere tells whether the stack handed the socket its last datagram on another CPU than the caller's.
func (s *socket) elsewhere() bool { return s.connected && traffic.StackElsewhere(s.fd) }

// isOwn tells whether a connected socket's peer is on this very host: what it sends passes the stack within its own
// sending call, on its CPU.
func (s *socket) isOwn(peer unix.Sockaddr) bool {
	local, err := unix.Getsockname(s.fd)
	return err == nil && oneHost(traffic.IPOf(peer), traffic.IPOf(local))
}

// oneHost tells whether two ends of a path are one host's, by one address of both or one of loopback.
func oneHost(a, b netip.Addr) bool { return a == b || a.IsLoopback() }
