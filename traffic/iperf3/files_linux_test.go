package iperf3

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic/lobby/filetest"
)

// TestAServerWithoutFilesSaysSo in a process of its own, whose files are all open: SERVER_ERROR, IEACCEPT and EMFILE.
func TestAServerWithoutFilesSaysSo(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	h := serve(t, ServerOptions{})
	var callers []int
	for range 2 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		callers = append(callers, fd)
	}
	giveBack := filetest.Exhaust(t)
	call := func(fd int) []byte {
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: h.port}); err != nil {
			t.Fatal(err)
		}
		_, _ = unix.Write(fd, append([]byte(strings.Repeat("a", 36)), 0))
		b := make([]byte, 9)
		n, _ := unix.Read(fd, b)
		return b[:max(n, 0)]
	}
	if got, want := call(callers[0]), []byte{0xfe, 0, 0, 0, ErrorAccept, 0, 0, 0, byte(syscall.EMFILE)}; !bytes.Equal(got, want) {
		t.Errorf("without files a client is told %v, want %v", got, want)
	}
	giveBack()
	if got := call(callers[1]); !bytes.Equal(got, []byte{byte(paramExchange)}) {
		t.Errorf("with files again a client is told %v", got)
	}
}

// TestAServerWithoutFilesForDatagramsSaysSo before it lets a client greet, which waits for nothing else then: SERVER_ERROR,
// IESTREAMACCEPT and EMFILE.
func TestAServerWithoutFilesForDatagramsSaysSo(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	h := serve(t, ServerOptions{})
	r := h.rude(t)
	if err := r.expect(paramExchange, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	defer filetest.Exhaust(t)()
	if err := r.sendJSON(params{UDP: true, Time: 1, Parallel: 2, Len: 1000}); err != nil {
		t.Fatal(err)
	}
	var refused *ServerError
	if err := r.expect(createStreams, 5*time.Second); !errors.As(err, &refused) || *refused != (ServerError{ErrorStreamAccept, int(syscall.EMFILE)}) {
		t.Errorf("without files a client is told %v", err)
	}
}
