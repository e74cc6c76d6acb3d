package lab

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Tap is a socket that gets every frame that an interface receives.
type Tap struct {
	n  *Namespace
	fd int
}

// tapWait is how long Next waits, in milliseconds: the frame is there already, or on its way through one
// veth.
const tapWait = 5000

// NewTap opens one; it ends with the test.
func NewTap(n *Namespace, name string) *Tap {
	n.t.Helper()
	tap := &Tap{n: n, fd: -1}
	index := n.Link(name).Attrs().Index
	n.Do(func() (err error) {
		all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
		if tap.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		return unix.Bind(tap.fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: index})
	})
	n.t.Cleanup(func() { unix.Close(tap.fd) })
	return tap
}

// Next is the next frame that was received; none came in time if it is empty.
func (t *Tap) Next() []byte { return t.next(tapWait) }

// Pending is a frame that is there already, or none.
func (t *Tap) Pending() []byte { return t.next(0) }

func (t *Tap) next(wait int) []byte {
	t.n.t.Helper()
	frame := make([]byte, 1<<16)
	for {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, wait)
		if err == unix.EINTR {
			continue
		}
		if err != nil || ready == 0 {
			return nil
		}
		size, from, err := unix.Recvfrom(t.fd, frame, 0)
		t.n.Must("reading a frame", err)
		if link, ok := from.(*unix.SockaddrLinklayer); ok && link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		return frame[:size]
	}
}

// Sender sends frames out of an interface as they are. It ends with the test.
func Sender(n *Namespace, name string) func(frame []byte) {
	n.t.Helper()
	index, fd := n.Link(name).Attrs().Index, -1
	n.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	})
	n.t.Cleanup(func() { unix.Close(fd) })
	return func(frame []byte) {
		n.Must("sending a frame", unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: index}))
	}
}
