package stream

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// patience bounds every blocking call of a hot thread, so that it sees a stop
// and lets the runtime's other work pass.
const patience = 100 * time.Millisecond

// socket is a connection that was taken out of net and its poller.
type socket struct {
	fd   uintptr
	file uintptr // what sendfile sends
	at   int64   // sendfile's offset: the kernel moves it
	zero *zeroCopy
}

// takeOver makes a flow of a connection: hot threads use it as a descriptor whose
// calls are bounded by patience.
func takeOver(f Flow, c Config) (*flow, error) {
	defer f.Conn.Close()
	conn, ok := f.Conn.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("the stream engine drives TCP connections, not a %T", f.Conn)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if e := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("taking over a connection: %w", err)
	}
	taken := &flow{socket: socket{fd: uintptr(fd)}, role: f.Role}
	if err := taken.ready(c); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return taken, nil
}

// ready sets what a connected socket needs. net switches TCP_NODELAY on, so it
// is always set here.
func (f *flow) ready(c Config) error {
	fd, nodelay := int(f.fd), 0
	if c.NoDelay {
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
	if f.role == traffic.Send && c.Copy == CopyZero {
		return f.sendWithoutCopy()
	}
	return nil
}

// sendWithoutCopy lets the socket take MSG_ZEROCOPY, since Linux 4.14.
func (f *flow) sendWithoutCopy() error {
	if err := unix.SetsockoptInt(int(f.fd), unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return errors.Join(errors.New("this kernel sends nothing without a copy (SO_ZEROCOPY): ask for copy plain, sendfile or splice"), err)
	}
	f.zero = newZeroCopy()
	return nil
}

// sendAtOnce lets what is handed over in so many bytes leave, where they fill no segment, as on loopback or where packets are large: it
// would wait for an acknowledgement (Nagle's algorithm, RFC 9293 section 3.7.4), which the peer may delay by 40 ms and more.
func (s *socket) sendAtOnce(bytes int) {
	if mss, err := unix.GetsockoptInt(int(s.fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG); err == nil && bytes < mss {
		_ = unix.SetsockoptInt(int(s.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // ready has set it, too
	}
}

func (s *socket) shutdown() { unix.Shutdown(int(s.fd), unix.SHUT_RDWR) }

// endSending tells the peer that nothing more comes.
func (s *socket) endSending() { unix.Shutdown(int(s.fd), unix.SHUT_WR) }

// awaitEnd waits, within the limit, until the peer has closed its half.
func (s *socket) awaitEnd(limit time.Time) {
	unix.SetNonblock(int(s.fd), false)
	var b [1]byte
	for time.Now().Before(limit) {
		if _, err := unix.Read(int(s.fd), b[:]); err != unix.EAGAIN && err != unix.EINTR {
			return
		}
	}
}

// close leaves a number that is no descriptor: another file may get the old one.
func (s *socket) close() {
	unix.Close(int(s.fd))
	s.fd = noFD
}

// noFD is a number that the kernel refuses.
const noFD = 1<<31 - 1
