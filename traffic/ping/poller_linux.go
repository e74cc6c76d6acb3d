package ping

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readyAtOnce is how many ready sockets one wait returns.
const readyAtOnce = 64

// poller tells one hot thread which of its sockets are ready, level-triggered. A
// socket is known by its place in the thread's flows.
type poller struct {
	fd     int
	change unix.EpollEvent
	until  unix.Timespec
	coarse bool // the system has no epoll_pwait2, or hides it
	events [readyAtOnce]unix.EpollEvent
}

func newPoller(fds []int) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll set: %w", err)
	}
	p := &poller{fd: fd}
	for i, s := range fds {
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, s, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("adding a socket to an epoll set: %w", err)
		}
	}
	return p, nil
}

func (p *poller) close() {
	if p != nil {
		unix.Close(p.fd)
	}
}

// watch says whether a socket waits for room to send beside something to read.
//
//go:nosplit
func (p *poller) watch(fd uintptr, place int32, full bool) syscall.Errno {
	p.change = unix.EpollEvent{Events: unix.EPOLLIN, Fd: place}
	if full {
		p.change.Events |= unix.EPOLLOUT
	}
	return p.modify(fd)
}

// hold lets a socket wait for room to send alone.
//
//go:nosplit
func (p *poller) hold(fd uintptr, place int32) syscall.Errno {
	p.change = unix.EpollEvent{Events: unix.EPOLLOUT, Fd: place}
	return p.modify(fd)
}

//go:nosplit
func (p *poller) modify(fd uintptr) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_MOD, fd, uintptr(unsafe.Pointer(&p.change)), 0, 0)
	return e
}

func (p *poller) remove(fd uintptr) {
	unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, int(fd), nil)
}

// wait returns how many sockets are ready, within so many ns. It is epoll_pwait2
// (Linux 5.11), whose timeout is exact to the ns; where there is none, requests may
// be up to 1 ms late, which their lag shows.
//
//go:nosplit
func (p *poller) wait(ns int64) (int, syscall.Errno) {
	var n uintptr
	var e syscall.Errno
	if p.coarse {
		n, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), readyAtOnce, uintptr((ns+999_999)/1_000_000), 0, 0)
	} else {
		p.until.Sec, p.until.Nsec = ns/1e9, ns%1e9
		n, _, e = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), readyAtOnce, uintptr(unsafe.Pointer(&p.until)), 0, 0)
	}
	switch e {
	case unix.EINTR:
		return 0, 0
	case unix.ENOSYS, unix.EPERM:
		if !p.coarse {
			p.coarse = true
			return 0, 0
		}
	}
	return int(n), e
}
