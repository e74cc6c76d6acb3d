package stream

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every blocking call of a hot thread, so that it sees a stop
// and lets the runtime's other work pass.
const patience = 100 * time.Millisecond

// control returns the hook with which net makes a socket: buffers must be set
// before the handshake, because the window's scale is chosen in the SYN (RFC 7323).
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
	if l.buffer > 0 {
		if err := setBuffers(fd, l.buffer); err != nil {
			return err
		}
	}
	return setCongestion(fd, l.congestion)
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

// detach takes a connected socket out of net and its poller: hot threads use it
// as a blocking descriptor whose calls are bounded by patience.
func (l load) detach(conn *net.TCPConn) (int, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
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

// finish sets what a connected socket needs. net switches TCP_NODELAY on, so it
// is always set here.
func (l load) finish(fd int) error {
	nodelay := 0
	if l.nodelay {
		nodelay = 1
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, nodelay); err != nil {
		return fmt.Errorf("setting TCP_NODELAY: %w", err)
	}
	bound := unix.NsecToTimeval(patience.Nanoseconds())
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

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
