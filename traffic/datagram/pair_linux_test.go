package datagram

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// paired is a receiver's socket that hears one sender, and that sender.
func paired(t *testing.T) (in, out *net.UDPConn) {
	t.Helper()
	in = listenUDP(t)
	out = dialUDP(t, in)
	t.Cleanup(func() { in.Close(); out.Close() })
	pairUp(in, addressOf(out))
	return in, out
}

// taken is a socket that an engine has taken over, open until the test ends.
func taken(t *testing.T, conn *net.UDPConn, c Config) *socket {
	t.Helper()
	s, err := takeOver(conn, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// TestAPairHearsNobodyElse: a stranger's datagram does not come, the sender's does, and the engine sees a connected socket.
func TestAPairHearsNobodyElse(t *testing.T) {
	in, out := paired(t)
	stranger := dialUDP(t, in)
	defer stranger.Close()
	b := make([]byte, 16)
	for _, c := range []*net.UDPConn{stranger, out} { // loopback delivers within the call
		if _, err := c.Write([]byte(c.LocalAddr().String())[:9]); err != nil {
			t.Fatal(err)
		}
	}
	if _, from, err := in.ReadFromUDPAddrPort(b); err != nil || unmapped(from) != addressOf(out) {
		t.Errorf("a datagram came from %v, not from %v: %v", from, addressOf(out), err)
	}
	in.SetReadDeadline(time.Now().Add(time.Millisecond))
	if n, _, err := in.ReadFromUDPAddrPort(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("another one came, of %d bytes: %v", n, err)
	}
	s := taken(t, in, Config{Message: 100})
	if !s.connected {
		t.Error("the socket is not taken for connected")
	}
}

// TestASenderOfThisHostIsKnown: by loopback, or by one address at both ends.
func TestASenderOfThisHostIsKnown(t *testing.T) {
	for _, c := range []struct {
		a, b string
		one  bool
	}{
		{"127.0.0.1", "127.0.0.1", true}, {"127.1.2.3", "127.0.0.1", true}, {"::1", "::1", true},
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"2001:db8::1", "2001:db8::2", false},
	} {
		if got := oneHost(netip.MustParseAddr(c.a), netip.MustParseAddr(c.b)); got != c.one {
			t.Errorf("%s and %s are of one host: %t", c.a, c.b, got)
		}
	}
	in, _ := paired(t)
	if !taken(t, in, Config{Message: 100}).own {
		t.Error("a sender over loopback is taken for another host's")
	}
	if taken(t, listenUDP(t), Config{Message: 100}).own {
		t.Error("who sends to a socket that hears everybody is not known, and was")
	}
}

// TestTheStacksCPUIsKnown: over loopback the stack works on the sender's CPU.
func TestTheStacksCPUIsKnown(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skip("skip: needs two CPUs:", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < 2; cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	in, out := paired(t)
	s := taken(t, in, Config{Message: 100})
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its binding
		if s.elsewhere() {
			t.Error("nothing has come, from elsewhere")
		}
		for i, cpu := range cpus {
			if err := traffic.PinThread(cpu); err != nil {
				t.Error(err)
				return
			}
			if i == 0 {
				if _, err := out.Write(make([]byte, 9)); err != nil {
					t.Error(err)
				}
			}
			if got := s.elsewhere(); got != (i == 1) {
				t.Errorf("on CPU %d, of what came on CPU %d: %t", cpu, cpus[0], got)
			}
		}
	}()
	<-done
}
