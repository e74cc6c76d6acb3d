package stream

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readyAtOnce is how many ready sockets one wait returns.
const readyAtOnce = 64

// turnBytes is what one ready socket may send before the next has its turn; a
// larger message is one turn.
const turnBytes = 64 << 10

// poller lets one hot thread serve many sockets, level-triggered.
type poller struct {
	fd     int
	events [readyAtOnce]unix.EpollEvent
}

func newPoller(fds []int, interest uint32) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll set: %w", err)
	}
	p := &poller{fd: fd}
	for _, s := range fds {
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, s, &unix.EpollEvent{Events: interest, Fd: int32(s)}); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("adding a socket to an epoll set: %w", err)
		}
	}
	return p, nil
}

func (p *poller) remove(fd int32) {
	unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, int(fd), nil)
}

// wait returns how many sockets are ready; none after patience is EAGAIN. It is
// epoll_pwait because arm64 has no epoll_wait.
//
//go:nosplit
func (p *poller) wait() (int, syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), readyAtOnce, uintptr(patience.Milliseconds()), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e == 0 && n == 0 {
			return 0, unix.EAGAIN
		}
		return int(n), e
	}
}

// sendMany is sendBurst over the poller's sockets.
//
//go:nosplit
func sendMany(p *poller, b hotBuffer, c *counter, stop *atomic.Bool) syscall.Errno {
	for waits, bytes := 0, uintptr(0); waits < burstCalls/readyAtOnce && bytes < burstBytes && !stop.Load(); waits++ {
		ready, e := p.wait()
		if e != 0 {
			return e
		}
		for i := range ready {
			n, e := sendTurn(uintptr(p.events[i].Fd), b, c)
			if e != 0 {
				return e
			}
			bytes += n
		}
	}
	return 0
}

// sendTurn writes to one socket until its buffer is full or its turn is over.
//
//go:nosplit
func sendTurn(fd uintptr, b hotBuffer, c *counter) (sent uintptr, _ syscall.Errno) {
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(b.at), b.size, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		switch {
		case e == unix.EINTR:
			continue
		case e == unix.EAGAIN:
			return sent, 0
		case e != 0:
			return sent, e
		}
		c.add(n)
		sent += n
		if n < b.size || sent+b.size > turnBytes {
			return sent, 0
		}
	}
}

// receiveMany is receiveBurst over the poller's sockets; ended is the socket
// whose sender has ended, -1 for none.
//
//go:nosplit
func receiveMany(p *poller, b hotBuffer, c *counter, stop *atomic.Bool) (ended int32, _ syscall.Errno) {
	for waits, bytes := 0, uintptr(0); waits < burstCalls/readyAtOnce && bytes < burstBytes && !stop.Load(); waits++ {
		ready, e := p.wait()
		if e != 0 {
			return -1, e
		}
		for i := range ready {
			n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(p.events[i].Fd), uintptr(b.at), b.size, unix.MSG_DONTWAIT, 0, 0)
			switch {
			case e == unix.EINTR || e == unix.EAGAIN:
				continue
			case e != 0:
				return -1, e
			case n == 0:
				return p.events[i].Fd, 0
			}
			c.add(n)
			bytes += n
		}
	}
	return -1, 0
}
