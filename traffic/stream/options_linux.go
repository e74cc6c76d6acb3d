package stream

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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
	if l.buffer > 0 {
		if err := setBuffers(fd, l.buffer); err != nil {
			return err
		}
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
	return setCongestion(fd, l.congestion)
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

// setBuffers goes over net.core.[rw]mem_max where it is permitted; what was got
// is read back at the window's end.
func setBuffers(fd, size int) error {
	for _, o := range []struct{ force, plain int }{{unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}, {unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, o.force, size) == nil {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o.plain, size); err != nil {
			return fmt.Errorf("setting a socket buffer of %d bytes: %w", size, err)
		}
	}
	return nil
}

func setCongestion(fd int, name string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel has no congestion control %q: it has %s", name, algorithms("available"))
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("congestion control %q is for root only: others may use %s", name, algorithms("allowed"))
	case err != nil:
		return fmt.Errorf("setting the congestion control %q: %w", name, err)
	}
	return nil
}

func algorithms(which string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		return "none that could be listed"
	}
	return strings.Join(strings.Fields(string(text)), ", ")
}

// available refuses nothing: what a kernel lacks is seen at its socket.
func (load) available() error { return nil }
