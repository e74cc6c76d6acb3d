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

// gone tells whether a stream has nothing to read and never will.
func gone(conn net.Conn) bool {
	raw, err := rawOf(conn)
	if err != nil {
		return true
	}
	ended := false
	err = raw.Control(func(fd uintptr) { _, ended = peek(fd) })
	return ended || err != nil
}
