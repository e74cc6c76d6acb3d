package datagram

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unacknowledged tells that bytes of a connection are on their way to the peer's system (SIOCOUTQ, tcp(7)).
func unacknowledged(conn net.Conn) bool {
	tcp, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	queued := 0
	_ = raw.Control(func(fd uintptr) { queued, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return queued > 0
}
