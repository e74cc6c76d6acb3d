//go:build unix

package lobby

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// somebodyWaits tells whether a connection lies in a listener's queue: accept(2) says that there is no file also where it is empty.
func somebodyWaits(listener net.Listener) bool {
	c, ok := listener.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	ready := 0
	err = raw.Control(func(fd uintptr) { ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) })
	return err == nil && ready > 0
}
