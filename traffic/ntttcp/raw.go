package ntttcp

import (
	"fmt"
	"net"
	"syscall"
)

// manyFiles stands for a limit of open files that no test comes to.
const manyFiles = 1 << 20

// rawOf is the socket below a connection.
func rawOf(conn net.Conn) (syscall.RawConn, error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no socket", conn)
	}
	return c.SyscallConn()
}
