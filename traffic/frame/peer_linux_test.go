package frame

import (
	"testing"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
)

// TestAnOpenedPeerHasItsSettings: what lets a veth's other end take live frames must go with the process, kill -9 included, and
// a feature that was switched on stays.
func TestAnOpenedPeerHasItsSettings(t *testing.T) {
	needsRoot(t)
	inNamespace(t, func() {
		if err := linkLocal("one"); err != nil { // and one-peer
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
		one, err := netlink.LinkByName("one")
		if err != nil {
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
