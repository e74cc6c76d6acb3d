package measure

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"windtunnel/traffic/nstest"
)

func TestVirtualCounters(t *testing.T) {
	veth := map[string]uint64{"peer_ifindex": 7, "rx_queue_0_xdp_packets": 3, "rx_queue_1_xdp_packets": 4, "rx_queue_0_xdp_bytes": 99, "tx_queue_0_xdp_xmit": 5, "tx_queue_1_xdp_xmit": 1, "tx_queue_0_xdp_xmit_errors": 9}
	if got, err := virtualCounters(veth); err != nil || got != (virtualReading{napi: 7, xdp: 6}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := virtualCounters(map[string]uint64{"rx_queue_0_packets": 3}); !errors.Is(err, errNotVirtual) {
		t.Errorf("of a NIC: %v", err)
	}
	napi, xdp, err := virtualBetween(read(virtualReading{1, 2}, nil), read(virtualReading{5, 2}, nil))
	if err != nil || *napi != 4 || *xdp != 0 {
		t.Errorf("%v, %v, %v", napi, xdp, err)
	}
	if _, _, err := virtualBetween(read(virtualReading{napi: 5}, nil), read(virtualReading{}, nil)); !errors.Is(err, errReset) {
		t.Error(err)
	}
}

// TestAVirtualPairIsKnownAsOne, and loopback, as other drivers, as none.
func TestAVirtualPairIsKnownAsOne(t *testing.T) {
	nstest.Inside(t, func() {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}); err != nil {
			t.Error(err)
			return
		}
		for device, want := range map[string]bool{"one": true, "lo": false} {
			p, err := openVirtual(device)
			if err != nil || (p != nil) != want {
				t.Errorf("%s: %v, %v", device, p, err)
			}
			if p != nil {
				p.close()
			}
		}
	})
}
