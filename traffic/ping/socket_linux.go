package ping

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// patience bounds every blocking call of a hot thread, so that it sees a stop.
const patience = 100 * time.Millisecond

// datagramBuffer is what the buffers of a UDP socket are asked to be, bytes: answers
// of many requests may wait for a thread that was away.
const datagramBuffer = 4 << 20

// busyPollTime is for how long one call polls the device's queue, in µs (socket(7),
// SO_BUSY_POLL). It has no effect where the device has no NAPI id (lo, veth).
const busyPollTime = 50

// supported refuses nothing: this system has every option.
func (l load) supported() error { return nil }

// control returns the hook with which net makes a socket.
func (l load) control() func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = l.configure(int(fd)) }); e != nil {
			return e
		}
		return err
	}
}

func (l load) configure(fd int) error {
	if !l.udp {
		return traffic.SetCongestion(fd, l.congestion)
	}
	_ = traffic.SetBuffers(fd, datagramBuffer, datagramBuffer) // else as the system has them
	return nil
}

// splitFlows gives every peer of a UDP receiver a connected socket on the receiver's
// port: the kernel tells them apart and need not look a route up for each response.
// The port is shared only meanwhile: a socket that asks for any port may get a shared
// one (udp_lib_lport_inuse in net/ipv4/udp.c).
func splitFlows(l load, socket *net.UDPConn, peers []netip.AddrPort) (conns []net.Conn, err error) {
	share := func(_, _ string, c syscall.RawConn) error {
		return errors.Join(l.control()("", "", c), sharePort(c, 1))
	}
	dialer := net.Dialer{LocalAddr: socket.LocalAddr(), Control: share}
	raw, err := socket.SyscallConn()
	if err == nil {
		err = sharePort(raw, 1)
	}
	for i := 0; i < len(peers) && err == nil; i++ {
		var conn net.Conn
		if conn, err = dialer.Dial("udp", peers[i].String()); err == nil {
			conns = append(conns, conn)
		}
	}
	for i := 0; i < len(conns) && err == nil; i++ {
		if raw, err = conns[i].(*net.UDPConn).SyscallConn(); err == nil {
			err = sharePort(raw, 0)
		}
	}
	if err != nil {
		closeConns(conns)
		return nil, fmt.Errorf("giving each flow a socket: %w", err)
	}
	return conns, nil
}

func sharePort(c syscall.RawConn, on int) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, on) }); e != nil {
		return e
	}
	return err
}

// detach takes a connected socket out of net and its poller.
func (l load) detach(conn net.Conn) (int, error) {
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if e := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	if err != nil {
		return -1, fmt.Errorf("taking over a connection: %w", err)
	}
	if err := l.finish(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// finish sets what a connected socket needs: no delay, and calls that patience
// bounds.
func (l load) finish(fd int) error {
	if !l.udp {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return fmt.Errorf("setting TCP_NODELAY: %w", err)
		}
		// Acknowledgements ride on responses from the first one on, where a fresh
		// connection would send 16 of their own (tcp(7), TCP_QUICKACK).
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0); err != nil {
			return fmt.Errorf("setting TCP_QUICKACK: %w", err)
		}
	}
	if l.busy { // a hint: kernels before 5.11 lack one of them, and a user may lack the right
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUSY_POLL, busyPollTime)
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PREFER_BUSY_POLL, 1)
	}
	bound := unix.NsecToTimeval(max(time.Millisecond, min(patience, l.wait)).Nanoseconds())
	for _, option := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &bound); err != nil {
			return fmt.Errorf("bounding a socket's calls: %w", err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return fmt.Errorf("making a socket blocking: %w", err)
	}
	return nil
}

// ofADatagram tells an error that may be ICMP's word of one datagram: of a path that is narrower than it (EMSGSIZE), which the kernel
// tells once and cuts what leaves then, of a filter, or a way that is gone (icmp_err_convert in net/ipv4/icmp.c, icmpv6_err_convert in
// net/ipv6/icmp.c). That nobody has the port is another thing.
//
//go:nosplit
func ofADatagram(e syscall.Errno) bool {
	switch e {
	case unix.EMSGSIZE, unix.ENOPROTOOPT, unix.EACCES, unix.EPROTO:
		return true
	}
	return traffic.NoWay(e)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// newBuffer is memory of a hot thread's calls, with a pattern.
func newBuffer(size int) unsafe.Pointer {
	b := make([]byte, max(size, numberedSize))
	fillPattern(b)
	return unsafe.Pointer(unsafe.SliceData(b))
}
