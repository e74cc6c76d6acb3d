package lobby

import (
	"context"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// mostUnderWay is how many connections are being made at once: as many requests to connect, and answers, as fit into half of the ring of a
// virtual pair (VETH_RING_SIZE in drivers/net/veth.c). What it drops is asked again after a second.
const mostUnderWay = 128

// dialOthers connects n more sockets to where the first one is, many at once. net.Dialer
// would need a goroutine each for that, and so threads in other network namespaces.
func dialOthers(ctx context.Context, dialer net.Dialer, first *net.TCPConn, n int) ([]*net.TCPConn, error) {
	var conns []*net.TCPConn
	begun := make([]*os.File, 0, n)
	defer func() {
		for _, f := range begun {
			f.Close() // a connection has a descriptor of its own
		}
	}()
	failed := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: first.RemoteAddr(), Err: err}
	}
	to, err := peer(first)
	if err != nil {
		return nil, failed(err)
	}
	for len(conns) < n {
		for len(begun) < n && len(begun)-len(conns) < mostUnderWay {
			f, err := begin(to, first.RemoteAddr().String(), dialer.Control)
			if err != nil {
				return conns, failed(err)
			}
			begun = append(begun, f)
		}
		conn, err := finish(ctx, begun[len(conns)])
		if err != nil {
			return conns, failed(err)
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// peer is the address of a connection's other end, with the scope of a link-local one.
func peer(conn *net.TCPConn) (unix.Sockaddr, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var to unix.Sockaddr
	if e := raw.Control(func(fd uintptr) { to, err = unix.Getpeername(int(fd)) }); e != nil {
		return nil, e
	}
	return to, err
}

// begin makes a socket in this thread's network namespace, and has it connect without
// waiting for the answer.
func begin(to unix.Sockaddr, address string, control Control) (*os.File, error) {
	family, network := unix.AF_INET, "tcp4"
	if _, v6 := to.(*unix.SockaddrInet6); v6 {
		family, network = unix.AF_INET6, "tcp6"
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), address)
	raw, err := f.SyscallConn()
	if err == nil && control != nil {
		err = control(network, address, raw)
	}
	if err == nil {
		// EINTR, too, leaves the connection under way: connect(2).
		if e := unix.Connect(fd, to); e != nil && e != unix.EINPROGRESS && e != unix.EINTR {
			err = os.NewSyscallError("connect", e)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// finish waits until a socket is connected, and leaves the file to the caller.
func finish(ctx context.Context, f *os.File) (*net.TCPConn, error) {
	defer context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Unix(1, 0)) })()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var refused error
	if err := raw.Write(func(fd uintptr) bool {
		var connected bool
		connected, refused = outcome(int(fd))
		return connected || refused != nil
	}); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn)
	if err := tcp.SetKeepAlive(false); err != nil { // which FileConn turns on
		tcp.Close()
		return nil, err
	}
	return tcp, nil
}

// outcome says whether a socket is connected, or why it will not be; neither, while it is
// under way.
func outcome(fd int) (connected bool, refused error) {
	number, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return false, os.NewSyscallError("getsockopt", err)
	}
	if number != 0 {
		return false, os.NewSyscallError("connect", unix.Errno(number))
	}
	switch _, err := unix.Getpeername(fd); err {
	case nil:
		return true, nil
	case unix.ENOTCONN:
		return false, nil
	default:
		return false, os.NewSyscallError("getpeername", err)
	}
}
