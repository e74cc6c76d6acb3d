package stream

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// control returns the hook with which net makes a socket: buffers and the largest
// segment must be set before the handshake, because the window's scale and the
// segment are chosen in the SYN (RFC 7323, RFC 9293 section 3.7.1).
func (l load) control() func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = l.configure(int(fd), network == "tcp6") }); e != nil {
			return e
		}
		return err
	}
}

func (l load) configure(fd int, v6 bool) error {
	if err := traffic.SetBuffers(fd, l.sendBuffer, l.recvBuffer); err != nil {
		return err
	}
	if err := traffic.CheckBuffers(fd, l.sendBuffer, l.recvBuffer); err != nil {
		return err
	}
	if l.mss > 0 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, l.mss); err != nil {
			return fmt.Errorf("setting the largest segment to %d bytes (TCP_MAXSEG): %w", l.mss, err)
		}
	}
	if l.dscp > 0 {
		if err := setDSCP(fd, l.dscp, v6); err != nil {
			return err
		}
	}
	return traffic.SetCongestion(fd, l.congestion)
}

// setDSCP marks packets: the codepoint is the upper six bits of the byte (RFC
// 2474). A socket of IPv6 that takes IPv4, too, has both marks.
func setDSCP(fd, codepoint int, v6 bool) error {
	err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, codepoint<<2)
	if v6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, codepoint<<2)
	}
	if err != nil {
		return fmt.Errorf("setting the DSCP %d: %w", codepoint, err)
	}
	return nil
}

// available refuses nothing: what a kernel lacks is seen at its socket.
func (load) available() error { return nil }
