package frame

import (
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
	"windtunnel/traffic/nstest"
)

// TestAnOpenedPeerHasItsSettings: what lets a veth's other end take live frames must go with the process, kill -9 included, and
// a feature that was switched on stays.
func TestAnOpenedPeerHasItsSettings(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		one, err := linkLocal("one") // and one-peer
		if err != nil {
			t.Error(err)
			return
		}
		tool, err := ethtool.Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer tool.Close()
		if err := tool.Change("one-peer", map[string]bool{"rx-gro": false}); err != nil {
			t.Error(err)
			return
		}
		takes := func(want bool) { // XDP in the driver is one of both that it takes, for frames by XDP
			t.Helper()
			peer, err := netlink.LinkByName("one-peer")
			features, also := tool.Features("one-peer")
			if err != nil || also != nil {
				t.Error(err, also)
				return
			}
			attached := peer.Attrs().Xdp != nil && peer.Attrs().Xdp.Attached
			if attached != want || features["rx-gro"] {
				t.Errorf("XDP attached: %v, want %v; GRO is on: %v", attached, want, features["rx-gro"])
			}
			if own, err := tool.Features("one"); err != nil || own["tx-tcp-segmentation"] == want { // as is told of the time between
				t.Errorf("its own segmentation offload is %v: %v", own["tx-tcp-segmentation"], err)
			}
		}
		takes(false)
		restore, err := openPeer(device{index: one.Attrs().Index, name: "one"})
		if err != nil {
			t.Error(err)
			return
		}
		takes(true)
		if err := restore(); err != nil {
			t.Error(err)
		}
		takes(false)
	})
}

// TestAPeerIsOpenedOnlyWhereItHelps: a program at a veth's other end slows what else is sent there, and stayed until the end where
// frames had to leave by AF_PACKET all the same, since they are too large to be live ones, or none came.
func TestAPeerIsOpenedOnlyWhereItHelps(t *testing.T) {
	needsRoot(t)
	for name, size := range map[string]int{"too large": 8000, "lost on the way": 64} {
		ln := testListener(t)
		session := joinTo(t, ln)
		nstest.Inside(t, func() {
			l := load{sizes: mix{size}, flows: 1, threads: 1}
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one", MTU: 9000}, PeerName: "two"}); err != nil {
				t.Error(err)
				return
			}
			for _, end := range []string{"one", "two"} {
				if link, err := netlink.LinkByName(end); err != nil || netlink.LinkSetUp(link) != nil {
					t.Error(err)
					return
				}
			}
			out, err := deviceNamed("one")
			if err != nil {
				t.Error(err)
				return
			}
			w := &sendWorker{load: l, session: session, device: out, header: testHeader(four, 40000, 7, size, false)}
			err = w.try(t.Context(), byXDP)
			peer, also := netlink.LinkByName("two")
			if err == nil || also != nil || w.opened != nil || peer.Attrs().Xdp != nil && peer.Attrs().Xdp.Attached {
				t.Errorf("%s: %v, %v; opened %v, %+v", name, err, also, w.opened != nil, peer.Attrs().Xdp)
			}
			if size > 64 && strings.Contains(err.Error(), "GRO") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
