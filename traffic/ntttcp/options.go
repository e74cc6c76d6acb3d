package ntttcp

import (
	"fmt"
	"net"
	"strings"
	"syscall"
)

// control sets a socket's options before it connects or listens, when the
// buffers still decide about the window's scale (tcp(7)).
func (t *Test) control(network, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = t.setOptions(network, fd) })
	if err != nil {
		return err
	}
	return failed
}

func (t *Test) setOptions(network string, fd uintptr) error {
	if t.SendBuffer >= 0 {
		if err := setSocket(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, t.SendBuffer); err != nil {
			return fmt.Errorf("setting the send buffer to %d bytes: %w", t.SendBuffer, err)
		}
	}
	if t.ReceiveBuffer >= 0 {
		if err := setSocket(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, t.ReceiveBuffer); err != nil {
			return fmt.Errorf("setting the receive buffer to %d bytes: %w", t.ReceiveBuffer, err)
		}
	}
	if strings.HasPrefix(network, "tcp") {
		noDelay := 0
		if t.NoDelay {
			noDelay = 1
		}
		if err := setSocket(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, noDelay); err != nil {
			return fmt.Errorf("setting TCP_NODELAY: %w", err)
		}
	}
	return nil
}

// shortBuffer says when the system gave less than was asked for. Linux counts
// its own bookkeeping, as much again, in what it tells (socket(7)).
func (t *Test) shortBuffer(conn net.Conn) {
	raw, err := rawOf(conn)
	if err != nil {
		return
	}
	for _, b := range []struct {
		name          string
		option, asked int
	}{
		{"send", syscall.SO_SNDBUF, t.SendBuffer},
		{"receive", syscall.SO_RCVBUF, t.ReceiveBuffer},
	} {
		got := -1
		raw.Control(func(fd uintptr) { got, err = getSocket(fd, syscall.SOL_SOCKET, b.option) })
		if err == nil && b.asked > 0 && got/bookkeeping < b.asked {
			t.note("the system gave a %s buffer of %d bytes instead of %d%s", b.name, got/bookkeeping, b.asked, bufferAdvice)
		}
	}
}

// setNoDelay gives an accepted or connected socket what Go changes by itself:
// it turns TCP_NODELAY on for each.
func (t *Test) setNoDelay(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetNoDelay(t.NoDelay)
	}
}
