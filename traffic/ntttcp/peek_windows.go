package ntttcp

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// readable is called before a wait for something to read, and after it. A look
// before the wait would block: Go's sockets are not non-blocking here.
func readable(_ uintptr, waited bool) bool { return waited }

// glance looks at a stream as it is now: whether it has data, or will never have.
func glance(conn net.Conn) (data, ended bool) {
	if ready, err := awaitReadable(conn, time.Now().Add(time.Millisecond)); !ready {
		return false, err != nil
	}
	raw, err := rawOf(conn)
	if err != nil {
		return false, true
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		var n, flags uint32 = 0, windows.MSG_PEEK
		buffer := windows.WSABuf{Len: 1, Buf: &b[0]}
		err := windows.WSARecv(windows.Handle(fd), &buffer, 1, &n, &flags, nil, nil)
		ended = n == 0 || err != nil
	})
	ended = ended || err != nil
	return !ended, ended
}

// awaitReadable waits until a socket has something to read, or its end, without
// taking it. The time must not have come yet.
func awaitReadable(conn net.Conn, until time.Time) (bool, error) {
	conn.SetReadDeadline(until)
	defer conn.SetReadDeadline(time.Time{})
	err := untilReadable(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}
