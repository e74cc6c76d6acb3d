//go:build unix

package ntttcp

import (
	"net"
	"syscall"
)

// peek looks at a socket without taking from it: whether it would block, and
// whether the peer has ended it.
func peek(fd uintptr) (blocks, ended bool) {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return true, false
	}
	return false, err != nil || n == 0
}

// readable is called before a wait for something to read, and after it.
func readable(fd uintptr, _ bool) bool {
	blocks, _ := peek(fd)
	return !blocks
}

// glance looks at a stream as it is now: whether it has data, or will never have.
func glance(conn net.Conn) (data, ended bool) {
	raw, err := rawOf(conn)
	if err != nil {
		return false, true
	}
	blocks := false
	if raw.Control(func(fd uintptr) { blocks, ended = peek(fd) }) != nil {
		return false, true
	}
	return !blocks && !ended, ended
}
