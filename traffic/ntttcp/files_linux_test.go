package ntttcp

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby/filetest"
)

// TestPortsLeaveFilesToClients in a process of its own, which may open few.
func TestPortsLeaveFilesToClients(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	const files, ports = 64, 64
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: files}); err != nil {
		t.Fatal(err)
	}
	base := freePorts(t, ports)
	first := strconv.Itoa(base + 10) // half of the files, three a port
	ctx, cancel := context.WithCancel(t.Context())
	told, left := 0, 0
	err := Server{Base: base, Count: ports}.Serve(ctx, traffic.ServerConfig{
		Host: "127.0.0.1",
		Lacks: func(why error) error {
			if told++; !strings.Contains(why.Error(), "ulimit -n") || !strings.Contains(why.Error(), "from "+first+" on") {
				t.Errorf("it lacks those from %s on, and says %q", first, why)
			}
			return nil
		},
		Ready: func([]string) {
			for fd, err := syscall.Dup(1); err == nil; fd, err = syscall.Dup(1) {
				left++
				defer syscall.Close(fd)
			}
			cancel()
		},
	})
	if err != nil || told != 1 || left < files/4 {
		t.Errorf("%v; told %d times; %d files are left", err, told, left)
	}
}

// TestWhoComesWithoutFilesIsHungUpOn, and the receiver's owner hears of it: a sender would wait without end for one that cannot accept it.
func TestWhoComesWithoutFilesIsHungUpOn(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	s := host(t, traffic.ServerConfig{})
	var sockets []int
	for range 2 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, fd)
	}
	giveBack := filetest.Exhaust(t)
	defer giveBack()
	for i, port := range []int{s.base - 1, s.base} { // sync and data
		_ = unix.SetsockoptTimeval(sockets[i], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
		if err := unix.Connect(sockets[i], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(sockets[i], make([]byte, 1)); n != 0 || err != nil {
			t.Errorf("port %d: %d bytes, %v", port, n, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) != 2 || s.events[1].What != traffic.SessionRefused || s.events[1].Client != "127.0.0.1" || !strings.Contains(s.events[1].Says, "ulimit -n") {
		t.Errorf("told: %+v", s.events)
	}
}

// TestManyFilesLimitNoPorts: what a process usually may open is enough for all ports.
func TestManyFilesLimitNoPorts(t *testing.T) {
	for files, want := range map[int]int{4: 1, 64: 10, 128: 22, 256: serverPorts, 1024: serverPorts, manyFiles: serverPorts} {
		h := newHall(Server{}, traffic.ServerConfig{})
		if err := h.limitPorts(files); err != nil || h.server.count() != want {
			t.Errorf("of %d files %d ports, %v, instead of %d", files, h.server.count(), err, want)
		}
	}
}

// TestAReceiverServesWhoeverCameWithoutFiles, once there are some again: at each port where a sender asks something.
func TestAReceiverServesWhoeverCameWithoutFiles(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	for name, c := range map[string]struct {
		sync  Sync
		share bool
		port  int
		says  string
	}{
		"sync": {SyncLinux, false, -1, "\x00\x00\x00X"}, "-sp": {SyncNone, true, 0, ""}, "token": {SyncWindows, false, tokenOffset, "X"},
	} {
		t.Run(name, func(t *testing.T) {
			_, receive := pairOf(t, c.sync, 1, 1)
			base := receive.Threads[0].Port
			receive.SharePort = c.share
			r, err := receive.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { r.Run(ctx) })
			defer r.Close()
			defer running.Wait()
			defer cancel()
			if c.sync == SyncWindows {
				data := socketTo(t)
				connect(t, data, base)
				for len(r.lobby.present()) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			asks := socketTo(t)
			giveBack := filetest.Exhaust(t)
			connect(t, asks, base+c.port)
			time.Sleep(2 * acceptPause)
			giveBack()
			unix.Write(asks, []byte(c.says))
			n, err := unix.Read(asks, make([]byte, 4))
			for err == unix.EINTR { // by the Go scheduler
				n, err = unix.Read(asks, make([]byte, 4))
			}
			if n <= 0 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

// socketTo is a socket that is yet to connect, which takes no further file.
func socketTo(t *testing.T) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
	return fd
}

func connect(t *testing.T, fd, port int) {
	t.Helper()
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionsThatHaveGoneMakePlace where there are no files: nobody else would close them before a test begins.
func TestConnectionsThatHaveGoneMakePlace(t *testing.T) {
	if !filetest.Alone(t) {
		return
	}
	_, receive := pairOf(t, SyncLinux, 1, 1)
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	base := receive.Threads[0].Port
	const gone = 5
	for range gone {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", base))
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	for len(r.lobby.present()) < gone {
		time.Sleep(time.Millisecond)
	}
	asks := socketTo(t)
	defer filetest.Exhaust(t)()
	connect(t, asks, base-1)
	unix.Write(asks, []byte("\x00\x00\x00X"))
	if n, err := unix.Read(asks, make([]byte, 4)); n <= 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
