package iperf3

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAServerWithoutFilesSaysSo in a process of its own, whose files are all open: SERVER_ERROR, IEACCEPT and EMFILE.
func TestAServerWithoutFilesSaysSo(t *testing.T) {
	const asked = "SERVER_WITHOUT_FILES"
	if os.Getenv(asked) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		c.Env = append(os.Environ(), asked+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
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
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64})
	var taken []int
	for fd, err := syscall.Dup(1); err == nil; fd, err = syscall.Dup(1) {
		taken = append(taken, fd)
	}
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
	for _, fd := range taken {
		syscall.Close(fd)
	}
	if got := call(callers[1]); !bytes.Equal(got, []byte{byte(paramExchange)}) {
		t.Errorf("with files again a client is told %v", got)
	}
}
