package ping

import (
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A flow over UDP without an answer to what it asked says that it may have moved after so long, in ns, and again, ever more seldom, up
// to the other.
const (
	missedAfter = 300e6
	missedMost  = 5e9
)

// moving is how a flow over UDP is found again whose answers do not come.
type moving struct {
	hello      *hello // nil: it is not looked for
	gap        int64  // ns until the next word; 0: none was needed
	next       int64  // nanotime
	cookie     token
	challenged bool // to prove its address by the cookie
}

// seek says that a flow may have moved where its answers do not come, and proves where it is. It is no part of the hot loops.
func (g *pinger) seek(f *flow) {
	m := &f.moving
	switch silent := g.now - max(f.last, g.tally.plan.start); {
	case m.hello == nil:
		return
	case m.challenged:
		m.challenged, m.hello.Cookie = false, m.cookie // by which it also says farewell
	case silent < missedAfter || f.begun <= f.last:
		m.gap = 0
		return
	case m.gap > 0 && g.now < m.next:
		return
	}
	m.gap = min(max(2*m.gap, missedAfter), missedMost)
	m.next = g.now + m.gap
	h := *m.hello
	h.Purpose = moves
	b := h.encode()
	_, _ = unix.SendmsgN(int(f.fd), b[:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) // a lost one is said again
}

// answered takes what the receiver says to a hello; all but a challenge means nothing here. It is called by hot loops.
//
//go:nosplit
func (m *moving) answered(b unsafe.Pointer) {
	if status := uint16(*(*byte)(unsafe.Add(b, 10)))<<8 | uint16(*(*byte)(unsafe.Add(b, 11))); status == challenge {
		m.cookie, m.challenged = *(*token)(unsafe.Add(b, 16)), true
	}
}

// connect has a flow's socket hear another peer.
func (e *hotEngine) connect(flow int, to netip.AddrPort) error {
	peer, err := unix.Getpeername(e.fds[flow])
	if err != nil {
		return fmt.Errorf("asking for a flow's peer: %w", err)
	}
	switch a := peer.(type) {
	case *unix.SockaddrInet4:
		if !to.Addr().Unmap().Is4() {
			return fmt.Errorf("a flow over IPv4 cannot move to %s", to)
		}
		a.Port, a.Addr = int(to.Port()), to.Addr().Unmap().As4()
	case *unix.SockaddrInet6: // in its zone, if it has one
		a.Port, a.Addr = int(to.Port()), to.Addr().As16()
	}
	return unix.Connect(e.fds[flow], peer)
}
