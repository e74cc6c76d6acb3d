package lobby

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowded is the port of a socket with room for two connections that nobody accepts.
func crowded(t *testing.T) (port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), 1) }); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return ln.Addr().(*net.TCPAddr).Port
}

// underWay is how many sockets of this network namespace try to connect to a port
// (state 02, SYN_SENT, in proc_net_tcp.txt).
func underWay(t *testing.T, port int) int {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	n, to := 0, fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[2], to) && f[3] == "02" {
			n++
		}
	}
	return n
}

// TestDialIsUnderWayAtOnce: of many connections none waits for the one before it. The far
// end has room for two, and takes no more; a dial that is cancelled leaves none behind.
func TestDialIsUnderWayAtOnce(t *testing.T) {
	const n = 9
	port := crowded(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		conns, err := Dial(ctx, fmt.Sprintf("127.0.0.1:%d", port), n, nil)
		for _, c := range conns {
			c.Close()
		}
		done <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); underWay(t, port) < n-2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are under way at once; %d of %d should be", underWay(t, port), n-2, n)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that was cancelled ended with %v", err)
	}
	if left := underWay(t, port); left != 0 {
		t.Errorf("%d connections are still under way after the dial was cancelled", left)
	}
}

// TestDialConnectsAll: each socket had its options set before it connected, has no
// keep-alives, and reaches the far end, in IPv4 and IPv6.
func TestDialConnectsAll(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		var networks []string
		control := func(network, _ string, c syscall.RawConn) error {
			networks = append(networks, network)
			return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PRIORITY, 5) })
		}
		conns, err := Dial(context.Background(), ln.Addr().String(), 20, control)
		if err != nil || len(conns) != 20 {
			t.Fatalf("%s: %d connections, %v", host, len(conns), err)
		}
		far := map[string]bool{}
		for range conns {
			c, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			far[c.RemoteAddr().String()] = true
			c.Close()
		}
		for i, c := range conns {
			if !far[c.LocalAddr().String()] {
				t.Errorf("%s: connection %d did not come", host, i)
			}
			priority, alive := option(t, c, unix.SO_PRIORITY), option(t, c, unix.SO_KEEPALIVE)
			if priority != 5 || alive != 0 {
				t.Errorf("%s: connection %d has priority %d of 5, keep-alives %d", host, i, priority, alive)
			}
			c.Close()
		}
		if family := map[string]string{"127.0.0.1": "tcp4", "::1": "tcp6"}[host]; len(networks) != 20 || slices.ContainsFunc(networks, func(n string) bool { return n != family }) {
			t.Errorf("%s: options were set for %v", host, networks)
		}
	}
}

// TestDialRefused: who does not listen is named, and an option that cannot be set ends
// the dial with what was connected.
func TestDialRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	conns, err := Dial(context.Background(), ln.Addr().String(), 3, func(string, string, syscall.RawConn) error {
		if asked++; asked > 1 {
			return errors.New("no such option")
		}
		return nil
	})
	if len(conns) != 1 || err == nil || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("with an option that failed: %d connections, %v", len(conns), err)
	}
	for _, c := range conns {
		c.Close()
	}
	ln.Close()
	if _, err := Dial(context.Background(), ln.Addr().String(), 3, nil); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("nobody listened: %v", err)
	}
}

func option(t *testing.T, c *net.TCPConn, name int) (value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, name) }); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return value
}
