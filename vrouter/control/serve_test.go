package control

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// soon bounds what ought to take no time.
const soon = 5 * time.Second

// failing is a listener whose Accept gives errors, one after the other, before what really comes.
type failing struct {
	net.Listener
	errors chan error
}

func (f failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.errors:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

func serveWith(t *testing.T, failures ...error) (socket string, ended chan error, stop context.CancelFunc) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	listener, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	errors := make(chan error, len(failures))
	for _, err := range failures {
		errors <- err
	}
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- (&Agent{}).Serve(ctx, failing{listener, errors}) }()
	t.Cleanup(func() {
		stop()
		listener.Close()
	})
	return socket, ended, stop
}

func endsWith(t *testing.T, ended chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(soon):
		t.Fatal("it goes on")
		return nil
	}
}

// TestServeGoesOn: a client that cannot be taken in, for want of a file descriptor or because it has gone, is
// no reason to end, which would end forwarding under a lease.
func TestServeGoesOn(t *testing.T) {
	full := &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", unix.EMFILE)}
	gone := &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", unix.ECONNABORTED)}
	socket, ended, stop := serveWith(t, full, gone, full)
	if _, err := Ask(socket, Request{Get: "x"}); err == nil || !strings.Contains(err.Error(), `no "x" to get`) {
		t.Errorf("the answer is %v", err)
	}
	stop()
	if err := endsWith(t, ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestServeEnds: when the socket fails for good, nobody is waited for who has nothing to ask.
func TestServeEnds(t *testing.T) {
	broken := errors.New("broken")
	listener := make(chan net.Conn, 1)
	here, there := net.Pipe()
	defer there.Close()
	listener <- here
	ended := make(chan error, 1)
	go func() { ended <- (&Agent{}).Serve(t.Context(), once{listener, broken}) }()
	if err := endsWith(t, ended); !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
}

// once takes one client in, and then fails.
type once struct {
	clients chan net.Conn
	err     error
}

func (o once) Accept() (net.Conn, error) {
	select {
	case conn := <-o.clients:
		return conn, nil
	default:
		return nil, o.err
	}
}

func (once) Close() error   { return nil }
func (once) Addr() net.Addr { return &net.UnixAddr{Name: "once"} }

// TestTooLongRequest: who asks too much is told so, though nobody reads all of it.
func TestTooLongRequest(t *testing.T) {
	socket, _, _ := serveWith(t)
	long := []byte(`"` + strings.Repeat("x", 2*maxRequest) + `"`)
	if _, err := Ask(socket, Request{Apply: long}); err == nil || !strings.Contains(err.Error(), errTooLong.Error()) {
		t.Errorf("the answer is %v", err)
	}
}

// TestListenBesideBusy: a socket whose owner takes nobody in at the moment is not taken from it.
func TestListenBesideBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	busy, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(busy)
	if err := errors.Join(unix.Bind(busy, &unix.SockaddrUnix{Name: path}), unix.Listen(busy, 0)); err != nil {
		t.Fatal(err)
	}
	for { // until there is no room
		conn, err := net.DialTimeout("unix", path, soon)
		if err != nil {
			break
		}
		defer conn.Close()
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the busy one's socket was removed: %v", err)
	}
}
