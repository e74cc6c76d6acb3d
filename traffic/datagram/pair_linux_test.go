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

// TestASenderThatComesFromElsewhere: a translator of addresses forgets who says nothing for a while, and gives the next datagram another port.
// The receiver had been connected to the one before, and what came was lost to it.
func TestASenderThatComesFromElsewhere(t *testing.T) {
	in, out := paired(t)
	to := in.LocalAddr().(*net.UDPAddr)
	e := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}}, Flow{Conn: in, Role: traffic.Receive, Source: addressOf(out)})
	e.Start()
	datagram := make([]byte, 100)
	say := func(from *net.UDPConn, seq uint64) {
		t.Helper()
		longHeader{testKey}.Put(datagram, Stamp{Seq: seq})
		if _, err := from.Write(datagram); err != nil && !errors.Is(err, unix.ECONNREFUSED) { // of an earlier one
			t.Error(err)
		}
	}
	say(out, 0)
	awaitPackets(t, e, 1)
	var other *net.UDPConn
	for seq := uint64(1); seq <= 2; seq++ {
		awaitApart(t, e, to.Port)
		var err error
		if other, err = net.DialUDP("udp", nil, to); err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		other.Write([]byte("a stranger"))
		for try := 0; try < 20 && e.Snapshot().Flows[0].Packets == seq; try++ { // this machine may hold the receiver up
			say(other, seq)
			time.Sleep(patience)
		}
		awaitPackets(t, e, seq+1)
	}
	if _, err := out.Write([]byte("a stranger")); err == nil {
		_, err = out.Write([]byte("a stranger")) // the first one's answer is ICMP's
		if !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("where the sender was it is still heard: %v", err)
		}
	}
	if c := e.Snapshot().Flows[0]; c.Corrupt != 0 || c.Foreign != 2 || c.Lost != 0 {
		t.Errorf("%+v", c)
	}
}

// awaitApart waits until the receiver hears everybody, at the port that it had: this machine may hold its thread up.
func awaitApart(t *testing.T, e *Engine, port int) {
	t.Helper()
	fd := -1
	for _, th := range e.threads {
		if th.receive != nil {
			fd = th.receive.inlets[0].socket.fd
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, connected := unix.Getpeername(fd)
		local, err := unix.Getsockname(fd)
		if err == nil && errors.Is(connected, unix.ENOTCONN) && portOf(local) == port {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("its peer: %v; its own port is %d, not %d: %v", connected, portOf(local), port, err)
		}
	}
}

// TestAFastFlowIsMissedSooner: who changes its port amid traffic leaves no pause.
func TestAFastFlowIsMissedSooner(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		want   int
	}{
		"as fast as it goes": {Config{Message: 1400}, 1}, "1000 a second": {Config{Message: 1400, PacketsPerSecond: 1000}, 1},
		"ten a second": {Config{Message: 1400, PacketsPerSecond: 10}, apartAfter}, "10 kbit/s": {Config{Message: 1400, BitsPerSecond: 1e4}, apartAfter},
	} {
		if got := c.config.silences(); got != c.want {
			t.Errorf("%s: %d calls in turn, want %d", name, got, c.want)
		}
	}
}

// TestASocketThatIsSentByStaysConnected: datagrams flow both ways by it, and its sender names nobody.
func TestASocketThatIsSentByStaysConnected(t *testing.T) {
	in, out := paired(t)
	e := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}},
		Flow{Conn: in, Role: traffic.Receive, Source: addressOf(out)}, Flow{Conn: in, Role: traffic.Send, Peer: addressOf(out)})
	for _, th := range e.threads {
		if th.receive != nil && th.receive.inlets[0].paired {
			t.Error("it would hear everybody after a while, and have nobody to send to")
		}
	}
}
