package datagram

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
	"windtunnel/traffic/icmptest"
	"windtunnel/traffic/nstest"
)

// unrouted is a flow over loopback whose way to its peer a test takes away and gives back.
type unrouted struct {
	*sender
	flow *outflow
	to   name
}

func newUnrouted(t *testing.T, c Config) unrouted {
	t.Helper()
	conn, peer := ends(t, "udp6", "::1")
	conn.Close()
	t.Cleanup(func() { peer.Close() })
	conn, err := net.ListenUDP("udp6", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, c, Flow{Conn: conn, Role: traffic.Send, Peer: peer.LocalAddr().(*net.UDPAddr).AddrPort()})
	s := e.threads[0].send
	s.pace()
	return unrouted{s, s.flows[0], s.flows[0].to}
}

// lose sends to a mapped IPv4 address, to which a socket of IPv6 alone has no way (udpv6_sendmsg in net/ipv6/udp.c): ENETUNREACH.
func (u unrouted) lose(t *testing.T) {
	t.Helper()
	away, err := u.flow.socket.name(netip.MustParseAddrPort("127.0.0.1:9"))
	if err != nil {
		t.Fatal(err)
	}
	u.flow.to = away
}

// A link that goes down for a while ended the sender with "network is unreachable".
func TestASenderOutlivesALinkThatGoesDown(t *testing.T) {
	for name, segmentation := range map[string]string{"segments": "auto", "one by one": "off"} {
		t.Run(name, func(t *testing.T) {
			u := newUnrouted(t, Config{Message: 100, Codec: longHeader{testKey}, BitsPerSecond: 8e6, Segmentation: segmentation})
			ms := time.Millisecond.Nanoseconds()
			send := func(at int64) FlowCounts {
				t.Helper()
				if err := u.send(u.flow, 4, at*ms, at*ms); err != nil {
					t.Fatalf("at %d ms: %v", at, err)
				}
				return u.engine.Snapshot().Flows[0]
			}
			send(1)
			u.lose(t)
			send(10)
			if f := send(200); f.Packets != 4 || f.Refused != 2 || !f.IsAway || !errors.Is(f.AwayWhy, unix.ENETUNREACH) {
				t.Errorf("while there is no way: %+v", f)
			}
			if err := u.engine.Snapshot().away(); !errors.Is(err, unix.ENETUNREACH) {
				t.Errorf("at an end without a way: %v", err)
			}
			u.flow.to = u.to
			if f := send(310); f.Packets != 8 || u.flow.seq != 8 || f.IsAway || f.Away != 300*time.Millisecond {
				t.Errorf("after 300 ms without a way the flow is at number %d: %+v", u.flow.seq, f)
			}
			if err := u.engine.Snapshot().away(); err != nil {
				t.Errorf("though there is a way again: %v", err)
			}
			if lags := u.lag[0].Histogram(); lags.Count != 2 {
				t.Errorf("%d lags of two sends by which something left", lags.Count)
			}
		})
	}
}

// A window begins with what left in it: of a sender that is turned away at first, rates would be of a longer time, or a shorter one.
func TestAMarkIsSeenWhereSomethingLeaves(t *testing.T) {
	u := newUnrouted(t, Config{Message: 100, Codec: longHeader{testKey}, BitsPerSecond: 8e6})
	ms := time.Millisecond.Nanoseconds()
	send := func(at int64) {
		t.Helper()
		u.note(at * ms)
		if err := u.send(u.flow, 4, at*ms, at*ms); err != nil {
			t.Fatalf("at %d ms: %v", at, err)
		}
	}
	send(1)
	u.engine.from[markWindow].Store(5 * ms)
	u.lose(t)
	send(10)
	if first, _ := u.engine.seenMark(traffic.Send, markWindow); first.yes {
		t.Errorf("nothing has left, and the window began at %d ms", first.at/ms)
	}
	u.flow.to = u.to
	for _, at := range []int64{20, 30} {
		send(at)
		if first, all := u.engine.seenMark(traffic.Send, markWindow); !first.yes || !all || first.at != 20*ms {
			t.Errorf("its first datagrams left at 20 ms, not at %d (%t, %t)", first.at/ms, first.yes, all)
		}
	}
}

// Of a flow that never had a way nobody learns anything by going on.
func TestASenderWithoutAnyWayEnds(t *testing.T) {
	u := newUnrouted(t, Config{Message: 100, Codec: longHeader{testKey}})
	u.lose(t)
	if err := u.send(u.flow, 1, 0, 0); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("the send ended with %v", err)
	}
}

// A sender of so many datagrams has no other end: the way that is gone for good would keep it for ever.
func TestASenderOfAnAmountWaitsNotForEver(t *testing.T) {
	for limit, ends := range map[uint64]bool{1000: true, 0: false} {
		u := newUnrouted(t, Config{Message: 100, Codec: longHeader{testKey}, BitsPerSecond: 8e6, LimitPackets: limit})
		failed := u.send(u.flow, 1, 0, 0)
		u.lose(t)
		for _, at := range []time.Duration{time.Second, 20 * time.Second} {
			failed = errors.Join(failed, u.send(u.flow, 1, 0, at.Nanoseconds()))
		}
		if failed != nil {
			t.Errorf("limit %d: %v", limit, failed)
		}
		if err := u.send(u.flow, 1, 0, (31 * time.Second).Nanoseconds()); errors.Is(err, unix.ENETUNREACH) != ends {
			t.Errorf("limit %d, after 30 s without a way: %v", limit, err)
		}
	}
}

// What ICMP says of one datagram is no lack of a way: the next one leaves.
func TestASenderThatICMPTellsOfADatagramSendsOn(t *testing.T) {
	icmp, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Skipf("this user makes no ICMP messages: %v", err)
	}
	defer unix.Close(icmp)
	peer := listenUDP(t)
	defer peer.Close()
	conn := dialUDP(t, peer)
	message := icmptest.Prohibited(addressOf(conn), addressOf(peer))
	s := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}}, Flow{Conn: conn, Role: traffic.Send}).threads[0].send
	f := s.flows[0]
	for i := range 3 {
		if err := s.send(f, 1, 0, int64(i)); err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
		if i > 0 {
			continue
		}
		if err := unix.Sendto(icmp, message, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if c := s.engine.Snapshot().Flows[0]; c.Packets != 3 || c.Calls != 4 || c.Refused != 0 || c.Away != 0 || c.AwayWhy != nil {
		t.Errorf("of three datagrams, and a message of ICMP about the first: %+v", c)
	}
}

// A path whose MTU falls below the datagrams says so by ICMP, and what leaves then is cut: the sender ended, with "message too long".
func TestASenderOutlivesAPathThatGetsNarrow(t *testing.T) {
	nstest.Inside(t, func() {
		if err := loopbackUp(); err != nil {
			t.Error(err)
			return
		}
		icmp, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(icmp)
		peer := listenUDP(t)
		defer peer.Close()
		for name, segmentation := range map[string]string{"segments": "auto", "one by one": "off"} {
			conn := dialUDP(t, peer)
			message := narrow(addressOf(conn), addressOf(peer))
			s := newEngine(t, Config{Message: 1400, Codec: longHeader{testKey}, Segmentation: segmentation}, Flow{Conn: conn, Role: traffic.Send}).threads[0].send
			for i := range 3 {
				if err := s.send(s.flows[0], 4, 0, int64(i)); err != nil {
					t.Errorf("%s: send %d: %v", name, i, err)
				}
				if err := unix.Sendto(icmp, message, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); i == 0 && err != nil {
					t.Error(err)
				}
			}
			if c := s.engine.Snapshot().Flows[0]; c.Packets != 12 || c.Refused != 0 || c.Away != 0 {
				t.Errorf("%s: of twelve datagrams: %+v", name, c)
			}
		}
	})
}

// narrow is the ICMP message of a router whose next link takes no packet beyond 1000 bytes (RFC 1191, section 4).
func narrow(from, to netip.AddrPort) []byte {
	m := icmptest.Prohibited(from, to)
	sum := uint32(^binary.BigEndian.Uint16(m[2:])) + 4 + 0xffff - 13 + 1000
	m[1] = 4
	binary.BigEndian.PutUint16(m[6:], 1000)
	binary.BigEndian.PutUint16(m[2:], ^uint16(sum&0xffff+sum>>16))
	return m
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
