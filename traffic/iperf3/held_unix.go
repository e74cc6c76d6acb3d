//go:build linux || darwin

package iperf3

import (
	"net"
	"net/netip"
	"syscall"
)

// mostHeld bounds what is taken out of one socket: whoever sends more is no client that greets.
const mostHeld = 1024

// held takes out of a socket the datagrams that it has, and waits for none. A reading with a deadline may find it
// over before it has looked, where the thread has to wait for a CPU.
func held(conn *net.UDPConn, take func(b []byte, from netip.AddrPort)) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	b := make([]byte, 64)
	_ = raw.Read(func(fd uintptr) bool {
		for range mostHeld {
			n, from, err := syscall.Recvfrom(int(fd), b, syscall.MSG_DONTWAIT)
			switch {
			case err == syscall.EAGAIN:
				return true
			case err == nil:
				take(b[:n], addressIn(from))
			}
		}
		return true
	})
}

func addressIn(a syscall.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
