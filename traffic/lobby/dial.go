package lobby

import (
	"context"
	"net"
	"syscall"
)

// Control sets a socket's options before it listens or connects, as net.Dialer's does.
type Control = func(network, address string, c syscall.RawConn) error

// Dial connects n sockets, one at least, to an address, without keep-alives and MPTCP. After
// the first many are under way together where the system allows it, so that many take hardly
// longer than a few on a path of long round trips. They are made in the caller's own
// thread, which may be in another network namespace than the program's. Those made so far
// stand beside an error.
func Dial(ctx context.Context, address string, n int, control Control) ([]*net.TCPConn, error) {
	dialer := net.Dialer{Control: control, KeepAlive: -1}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	first := conn.(*net.TCPConn)
	others, err := dialOthers(ctx, dialer, first, n-1)
	return append([]*net.TCPConn{first}, others...), err
}
