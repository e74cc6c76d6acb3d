package ntttcp

import (
	"net"
	"time"

	"golang.org/x/sys/windows"
)

// readable is called before a wait for something to read, and after it. A look
// before the wait would block: Go's sockets are not non-blocking here.
func readable(_ uintptr, waited bool) bool { return waited }

// gone tells whether a stream has nothing to read and never will.
func gone(conn net.Conn) bool {
	if ready, err := awaitReadable(conn, time.Now().Add(time.Millisecond)); !ready {
		return err != nil
	}
	raw, err := rawOf(conn)
	if err != nil {
		return true
	}
	ended := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		var n, flags uint32 = 0, windows.MSG_PEEK
		buffer := windows.WSABuf{Len: 1, Buf: &b[0]}
		err := windows.WSARecv(windows.Handle(fd), &buffer, 1, &n, &flags, nil, nil)
		ended = n == 0 || err != nil
	})
	return ended || err != nil
}
