package stream

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// readyAtOnce is how many ready sockets one wait returns.
const readyAtOnce = 64

// turnBytes is what one ready socket may send before the next has its turn; a
// larger message is one turn.
const turnBytes = 64 << 10

// poller lets one hot thread serve many sockets, level-triggered. An event's data
// is the index of the thread's flow.
type poller struct {
	fd     int
	events [readyAtOnce]unix.EpollEvent
}

func newPoller(flows []*flow, interest uint32) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll set: %w", err)
	}
	p := &poller{fd: fd}
	for i, f := range flows {
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(f.fd), &unix.EpollEvent{Events: interest, Fd: int32(i)}); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("adding a socket to an epoll set: %w", err)
		}
	}
	return p, nil
}

func (p *poller) remove(f *flow) {
	unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, int(f.fd), nil)
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
func (t *thread) sendMany(stop *traffic.Stop) burstEnd {
	for waits := 0; waits < t.bound && !stop.Load() && !t.late(waits); waits++ {
		ready, e := t.poller.wait()
		if e != 0 {
			return burstEnd{errno: e}
		}
		for i := range ready {
			event := &t.poller.events[i]
			f := t.flows[event.Fd]
			if f.zero != nil && event.Events&(unix.EPOLLERR|unix.EPOLLHUP) == unix.EPOLLERR {
				return burstEnd{flow: f} // completions wake the poller, too, until they are read; a call tells why a flow is dead
			}
			if ended, e := t.sendTurn(f); e != 0 || ended {
				return burstEnd{f, ended, e}
			}
		}
	}
	return burstEnd{}
}

// sendTurn writes to one socket until its buffer is full or its turn is over.
//
//go:nosplit
func (t *thread) sendTurn(f *flow) (ended bool, _ syscall.Errno) {
	once := uintptr(t.batch.most()) * t.buffer.size
	for sent := uintptr(0); ; {
		n, ended, e := f.sendCounted(t, once, unix.MSG_DONTWAIT)
		switch {
		case e == unix.EINTR:
			continue
		case e == unix.EAGAIN:
			return false, 0
		case e != 0 || ended:
			return ended, e
		}
		sent += n
		if n < once || sent+once > turnBytes {
			return false, 0
		}
	}
}

// receiveMany is receiveBurst over the poller's sockets.
//
//go:nosplit
func (t *thread) receiveMany(stop *traffic.Stop) burstEnd {
	for waits := 0; waits < t.bound && !stop.Load() && !t.late(waits); waits++ {
		ready, e := t.poller.wait()
		if e != 0 {
			return burstEnd{errno: e}
		}
		for i := range ready {
			f := t.flows[t.poller.events[i].Fd]
			n, e := f.receive(t, t.buffer.size, unix.MSG_DONTWAIT)
			switch {
			case e == unix.EINTR || e == unix.EAGAIN:
				continue
			case e != 0 || n == 0:
				return burstEnd{f, e == 0, e}
			}
		}
	}
	return burstEnd{}
}
