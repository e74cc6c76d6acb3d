//go:build linux

package datagram

import (
	"net"
	"syscall"
	"testing"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestDSCP reads the code point back from the sockets of both ends.
func TestDSCP(t *testing.T) {
	o := result.Options{"dscp": 46, "packets": 1e3}
	for host, option := range map[string][2]int{"127.0.0.1": {syscall.IPPROTO_IP, syscall.IP_TOS}, "::1": {syscall.IPPROTO_IPV6, syscall.IPV6_TCLASS}} {
		w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: o, Address: host})
		if err != nil {
			t.Logf("no %s here: %v", host, err)
			continue
		}
		receive := w.(*worker)
		defer receive.Close()
		send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
		if got := codePoint(t, send.session.conns[0], option); got != 46 {
			t.Errorf("%s: the sender's code point is %d", host, got)
		}
		s, r := runBoth(t.Context(), send, receive, ample())
		if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
			t.Errorf("%s: %v %v %s %s", host, s.err, r.err, s.end.Error, r.end.Error)
			continue
		}
		conserved(t, s.end, r.end, send.ledger, receive.ledger)
	}
}

func codePoint(t *testing.T, conn *net.UDPConn, option [2]int) (dscp int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { dscp, err = syscall.GetsockoptInt(int(fd), option[0], option[1]) })
	if err != nil {
		t.Fatal(err)
	}
	return dscp >> 2
}
