package poll

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"windtunnel/vrouter/internal/lab"
)

// TestHush: the host's stack gets the packets to all addresses but those that it has no part in, of both
// families, and these change.
func TestHush(t *testing.T) {
	lab.NeedRoot(t)
	n, h := lab.NewNamespace(t), hush{}
	lab.EnableIPv6(n, "lo")
	one, two, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("::1")
	for _, quiet := range [][]netip.Addr{nil, {one}, {two, six}, {six}, nil} {
		n.Do(func() error { return h.set(n.Link("lo").Attrs().Index, quiet) })
		hears := map[netip.Addr]bool{one: true, two: true, six: true}
		for _, a := range quiet {
			hears[a] = false
		}
		for a, want := range hears {
			if got := heard(t, n, a, want); got != want {
				t.Errorf("with %s: the stack hears %s: %v", quiet, a, got)
			}
		}
	}
	if err := h.close(); err != nil {
		t.Error(err)
	}
	if !heard(t, n, one, true) {
		t.Error("at the end, the stack hears nothing")
	}
}

// heard sends a datagram to an address of the loopback device, and tells whether it came.
func heard(t *testing.T, n *lab.Namespace, to netip.Addr, want bool) (came bool) {
	t.Helper()
	n.Do(func() error {
		socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 0)))
		if err != nil {
			return err
		}
		defer socket.Close()
		if _, err := socket.WriteTo([]byte("x"), socket.LocalAddr()); err != nil {
			return err
		}
		wait := time.Second
		if !want { // it is received within the call that sends it
			wait = time.Millisecond
		}
		socket.SetReadDeadline(time.Now().Add(wait))
		_, err = socket.Read(make([]byte, 1))
		came = err == nil
		return nil
	})
	return came
}
