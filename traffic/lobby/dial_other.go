//go:build !linux

package lobby

import (
	"context"
	"net"
)

// dialOthers connects n more sockets to where the first one is, one after the other.
func dialOthers(ctx context.Context, dialer net.Dialer, first *net.TCPConn, n int) ([]*net.TCPConn, error) {
	var conns []*net.TCPConn
	for range n {
		conn, err := dialer.DialContext(ctx, "tcp", first.RemoteAddr().String())
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn.(*net.TCPConn))
	}
	return conns, nil
}
