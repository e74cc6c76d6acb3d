package vrouter_test

import (
	"fmt"
	"testing"

	"github.com/vishvananda/netlink"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// tallies are what links and hooks counted between a1 and b1: packets, and segments as the wire has them.
type tallies struct {
	a1, v1, w1, w2, v2, b1 netlink.LinkStatistics // a1's end, the host's, the wire's two, the host's, b1's end
	vif1, vif2             control.Traffic
	fabric1, fabric2       control.Count // received
}

func (b *bed) tallies() (w tallies) {
	b.a.t.Helper()
	at := func(n *lab.Namespace, name string) netlink.LinkStatistics { return *n.Link(name).Attrs().Statistics }
	w.a1, w.v1, w.w1 = at(b.a1.Namespace, "eth0"), at(b.a.Namespace, "v-a1"), at(b.a.Namespace, "wire0")
	w.w2, w.v2, w.b1 = at(b.b.Namespace, "wire0"), at(b.b.Namespace, "v-b1"), at(b.b1.Namespace, "eth0")
	one, two := ask[control.Stats](b.a, "stats"), ask[control.Stats](b.b, "stats")
	w.vif1, w.vif2, w.fabric1, w.fabric2 = one.Vifs[0].Traffic, two.Vifs[0].Traffic, one.ReceivedFabric, two.ReceivedFabric
	return w
}

// unexplained lists where packets came or went between two looks that no counter knows of. segments tells
// that the wire cuts aggregates; where it does not, it counts packets as the hooks do.
func (now tallies) unexplained(before tallies, segments bool) (list []string) {
	same := func(what string, is func(tallies) uint64, want func(tallies) uint64) {
		if i, w := is(now)-is(before), want(now)-want(before); i != w {
			list = append(list, fmt.Sprintf("%s: %d, not %d", what, i, w))
		}
	}
	on := func(c control.Count) uint64 {
		if segments {
			return c.Segments
		}
		return c.Packets
	}
	for _, side := range []struct {
		name                 string
		inside, host, fabric func(tallies) netlink.LinkStatistics
		vif                  func(tallies) control.Traffic
		received             func(tallies) control.Count
	}{
		{"a", func(w tallies) netlink.LinkStatistics { return w.a1 }, func(w tallies) netlink.LinkStatistics { return w.v1 }, func(w tallies) netlink.LinkStatistics { return w.w1 },
			func(w tallies) control.Traffic { return w.vif1 }, func(w tallies) control.Count { return w.fabric1 }},
		{"b", func(w tallies) netlink.LinkStatistics { return w.b1 }, func(w tallies) netlink.LinkStatistics { return w.v2 }, func(w tallies) netlink.LinkStatistics { return w.w2 },
			func(w tallies) control.Traffic { return w.vif2 }, func(w tallies) control.Count { return w.fabric2 }},
	} {
		same(side.name+": the container's end sent what the host's end got", func(w tallies) uint64 { return side.inside(w).TxPackets }, func(w tallies) uint64 { return side.host(w).RxPackets })
		same(side.name+": the hook got what the host's end got", func(w tallies) uint64 { return side.vif(w).Rx.Packets }, func(w tallies) uint64 { return side.host(w).RxPackets })
		same(side.name+": what went to the fabric, it sent or dropped", func(w tallies) uint64 { return on(side.vif(w).Forwarded) }, func(w tallies) uint64 { return side.fabric(w).TxPackets + side.fabric(w).TxDropped })
		same(side.name+": the hook got what the fabric got", func(w tallies) uint64 { return on(side.received(w)) }, func(w tallies) uint64 { return side.fabric(w).RxPackets })
		same(side.name+": what went to the container, it got or its links dropped", func(w tallies) uint64 { return side.vif(w).Tx.Packets },
			func(w tallies) uint64 {
				return side.inside(w).RxPackets + side.inside(w).RxDropped + side.host(w).TxDropped
			})
	}
	same("a's wire end sent what b's got", func(w tallies) uint64 { return w.w1.TxPackets }, func(w tallies) uint64 { return w.w2.RxPackets + w.w2.RxDropped })
	same("b's wire end sent what a's got", func(w tallies) uint64 { return w.w2.TxPackets }, func(w tallies) uint64 { return w.w1.RxPackets + w.w1.RxDropped })
	return list
}

// TestLinksAgree: the links' own counters and the hooks' tell the same of TCP and of small frames, whether the
// wire passes aggregates whole or cuts them. What does not arrive is lost where a link says so.
func TestLinksAgree(t *testing.T) {
	for _, segments := range []bool{false, true} {
		t.Run(fmt.Sprintf("the wire cuts: %t", segments), func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			if segments {
				b.asNIC()
				b.receive(config.ReceiveTC)
			}
			b.run("--lease")
			tcp(t, b.a1, b.b1, 1<<16) // neighbours and the way's MTU are known
			if b.tallies().b1.RxPackets == 0 {
				t.Skip("skip: needs a kernel that counts what bpf_redirect_peer delivers (Linux 6.7: \"bpf: Fix dev's rx stats for bpf_redirect_peer traffic\")")
			}
			for what, send := range map[string]func(){
				"TCP":          func() { tcp(t, b.a1, b.b1, bulk/2); tcp(t, b.b1, b.a1, bulk/2) },
				"small frames": func() { smallFrames(t, b.a1, b.b1); smallFrames(t, b.b1, b.a1) },
			} {
				before := b.tallies()
				send()
				var list []string
				for range 200 { // some may be under way
					if list = b.tallies().unexplained(before, segments); len(list) == 0 {
						break
					}
				}
				for _, line := range list {
					t.Errorf("%s: %s", what, line)
				}
				if now := b.tallies(); now.vif1.Rx.Packets == before.vif1.Rx.Packets || now.vif2.Tx.Packets == before.vif2.Tx.Packets {
					t.Errorf("%s: nothing went through", what)
				}
			}
			b.a.addsUp()
			b.b.addsUp()
		})
	}
}

// smallFrames sends many of 60 bytes, as fast as a socket does.
func smallFrames(t *testing.T, from, to *container) {
	t.Helper()
	receiver, sender := udpSocket(t, to, 0), udpSocket(t, from, 0)
	for range 20_000 {
		if _, err := sender.WriteTo(make([]byte, 18), receiver.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
}
