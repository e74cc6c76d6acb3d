package frame

import (
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A device that went down for a while ended a sender by AF_PACKET, with "network is down".
func TestAPacketSocketOutlivesADeviceThatGoesDown(t *testing.T) {
	needsRoot(t)
	inNamespace(t, func() {
		link, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			t.Error(err)
			return
		}
		four := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		p, err := newPacketSocket(testHeader(four, 40000, 7, 64, false), device{index: 1, name: "lo", loopback: true}, 0, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.close()
		p.rate(1000, 1)
		p.setPhase(window)
		const ms = int64(time.Millisecond)
		send := func(at int64, wantSent, wantRefused uint64, wantAway time.Duration) {
			t.Helper()
			errno := p.send(1, at*ms)
			if sent, refused := p.counts(window); errno != 0 || sent != wantSent || refused != wantRefused || p.away() != wantAway {
				t.Errorf("at %d ms: %v; %d frames were sent, %d refused, the device away for %s", at, errno, sent, refused, p.away())
			}
		}
		send(1, 1, 0, 0)
		if err := netlink.LinkSetDown(link); err != nil {
			t.Error(err)
			return
		}
		send(10, 1, 1, 0)
		send(200, 1, 2, 190*time.Millisecond)
		if err := p.probe(1); err != unix.ENETDOWN {
			t.Logf("a probe of a device that is down: %v", err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			t.Error(err)
			return
		}
		p.setPhase(window)
		send(310, 2, 2, 300*time.Millisecond)
	})
}
