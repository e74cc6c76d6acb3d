package datagram

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

func TestFullBuffersAreRead(t *testing.T) {
	const snmp = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams InErrors RcvbufErrors SndbufErrors InCsumErrors MemErrors\nUdp: 10 9 4 1 3 2\nUdpLite: RcvbufErrors\nUdpLite: 77\n"
	if n, known := turnedAway(snmp); n != (udpTurnedAway{6, 3}) || !known {
		t.Errorf("%+v, %t", n, known)
	}
	for _, text := range []string{"", "Udp:\n", "Udp: RcvbufErrors\n", "Udp: RcvbufErrors\nUdp:\n", "Udp: RcvbufErrors\nUdp: x\n"} {
		if n, known := turnedAway(text); n.full != 0 || known {
			t.Errorf("%q tells %+v", text, n)
		}
	}
	if n := turnedAway6("Udp6InErrors 9\nUdp6RcvbufErrors 4\nUdp6MemErrors\t2\nUdp6InCsumErrors 5\nUdpLite6RcvbufErrors 8\n"); n != (udpTurnedAway{6, 5}) {
		t.Errorf("%+v of IPv6", n)
	}
}

// TestWrongChecksumsAreThePaths: what a path has changed is lost on it, though the
// socket counts it among its drops; what had no room is the receiver's.
func TestWrongChecksumsAreThePaths(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it sends by a raw socket")
	}
	in := listenUDP(t)
	to := in.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort()
	// Of what is shorter than 76 bytes the kernel looks at the checksum before the socket.
	const wrong, size = 40, 1000
	e := newEngine(t, Config{Message: size, Codec: longHeader{testKey}, PacketsPerSecond: 1000}, Flow{Conn: in, Role: traffic.Receive})
	e.Start()
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(raw)
	datagram := make([]byte, 8+size)
	binary.BigEndian.PutUint16(datagram, 9)
	binary.BigEndian.PutUint16(datagram[2:], to.Port())
	binary.BigEndian.PutUint16(datagram[4:], uint16(len(datagram)))
	binary.BigEndian.PutUint16(datagram[6:], 0xbad)
	for range wrong {
		if err := unix.Sendto(raw, datagram, 0, &unix.SockaddrInet4{Addr: to.Addr().Unmap().As4()}); err != nil {
			t.Fatal(err)
		}
	}
	s := e.sockets[0]
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		e.Snapshot()
		s.mu.Lock()
		dropped := s.dropped
		s.mu.Unlock()
		if dropped == wrong {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the socket counts %d drops, want %d: %+v", dropped, wrong, e.Snapshot().Flows)
		}
	}
	if got := e.Snapshot().Flows[0].SocketDrops; got != 0 {
		t.Errorf("%d of them had no room", got)
	}
}
