package ntttcp

import (
	"fmt"
	"net"
	"syscall"
)

// rawOf is the socket below a connection.
func rawOf(conn net.Conn) (syscall.RawConn, error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no socket", conn)
	}
	return c.SyscallConn()
}
