package ping

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic/icmptest"
)

// TestWhatICMPSaysOfADatagramEndsNothing: a path that is narrower than a request of 1400 bytes says so by ICMP, once to each socket, and what
// leaves then is cut. It ended the test at once with "message too long".
func TestWhatICMPSaysOfADatagramEndsNothing(t *testing.T) {
	icmp, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Skipf("this user makes no ICMP messages: %v", err)
	}
	defer unix.Close(icmp)
	for name, load := range map[string]result.Options{
		"closed":             {"protocol": "udp", "wait": 0.05},
		"closed, many flows": {"protocol": "udp", "wait": 0.05, "flows": 2},
		"open":               {"protocol": "udp", "wait": 0.05, "rate": 1000.},
	} {
		t.Run(name, func(t *testing.T) {
			undisturbed(t, func(t *testing.T) (s, r finished) {
				send, receive := pair(t, load, "127.0.0.1")
				near, far := addressOf(send.ends.conns[0].LocalAddr()), addressOf(send.ends.conns[0].RemoteAddr())
				when := soon(ample)
				over := time.AfterFunc(time.Until(when.Start)+ample/2, func() {
					for range 10 {
						for _, m := range [][]byte{icmptest.Prohibited(near, far), icmptest.Prohibited(far, near)} {
							if err := unix.Sendto(icmp, m, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
								t.Error(err)
							}
						}
					}
				})
				defer over.Stop()
				return runBoth(t.Context(), send, receive, when)
			})
		})
	}
}

func addressOf(a net.Addr) netip.AddrPort { return a.(*net.UDPAddr).AddrPort() }

// TestARequestWithoutAWayIsTriedNoMore: a link of this host that is down for a while costs requests, as one further away does. It ended the test.
func TestARequestWithoutAWayIsTriedNoMore(t *testing.T) {
	conn, err := net.ListenUDP("udp6", nil) // without a peer, and sent to as if it had one
	if err != nil {
		t.Skip(err)
	}
	defer conn.Close()
	for rate, fate := range map[float64]uint8{1000: refused, 0: open} {
		l := load{shape: shape{message: 8, response: 8}, udp: true, rate: rate, depth: 1, wait: time.Second, flows: 1, threads: 1, outstanding: 4}
		now := nanotime()
		p := plan{start: now, from: now, to: now + 1e9, stop: now + 1e9}
		g := pingerOver(t, l, p, conn, new(atomic.Bool))
		f := &g.flows[0]
		g.now = now
		f.out.book(now)
		if errno := g.without(f, unix.ENETUNREACH); errno != 0 {
			t.Fatal(errno)
		}
		if r := f.out.slot(0); r.state != fate || f.out.unsent != 1 {
			t.Errorf("at %g a second its state is %d, not %d, and %d have had their turn", rate, r.state, fate, f.out.unsent)
		}
		if errno := g.without(f, unix.EMSGSIZE); !errors.Is(errno, unix.EMSGSIZE) {
			t.Errorf("a request that may never leave: %v", errno)
		}
	}
}
