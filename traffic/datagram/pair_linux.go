package datagram

import (
	"fmt"
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

// silent notes a call that patience ended.
func (in *inlet) silent() error {
	if in.silences++; in.silences < in.patience || !in.paired {
		return nil
	}
	in.paired, in.apart = false, true
	return in.socket.part()
}

// part lets a connected socket hear everybody. Where the system had chosen its port, it takes that away with the peer (__udp_disconnect in
// net/ipv4/udp.c).
func (s *socket) part() error {
	local, err := unix.Getsockname(s.fd)
	if err != nil {
		return fmt.Errorf("asking for a socket's address: %w", err)
	}
	var nobody name // AF_UNSPEC
	if _, _, e := syscall.Syscall(unix.SYS_CONNECT, uintptr(s.fd), uintptr(unsafe.Pointer(&nobody.bytes[0])), unix.SizeofSockaddrInet4); e != 0 {
		return nil // it hears its peer, as before
	}
	s.connected = false
	if now, err := unix.Getsockname(s.fd); err == nil && portOf(now) == 0 {
		if err := unix.Bind(s.fd, local); err != nil {
			return fmt.Errorf("taking a socket's port again: %w", err)
		}
	}
	return nil
}

func portOf(a unix.Sockaddr) int {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

// rejoin connects the socket to whom an intact datagram came from.
func (in *inlet) rejoin(from *name) {
	in.apart = false
	size := uintptr(unix.SizeofSockaddrInet4)
	if in.socket.six {
		size = unix.SizeofSockaddrInet6
	}
	_, _, e := syscall.Syscall(unix.SYS_CONNECT, uintptr(in.socket.fd), uintptr(unsafe.Pointer(&from.bytes[0])), size)
	in.paired = e == 0
	in.socket.connected = e == 0
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
