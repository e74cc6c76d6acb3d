package vrouter_test

import (
	"fmt"
	"testing"

	"windtunnel/vrouter/config"
)

// timestamps are TCP's option on every segment, in bytes.
const timestamps = 12

// TestMSSClamp: a connection begins with segments that fit the tunnel, so none is answered with the
// MTU; without the clamp it begins with the container's own. The SYN's checksum is right where the
// container made it, and where it left it to a device behind the vRouter (CHECKSUM_PARTIAL). So over IPv6.
func TestMSSClamp(t *testing.T) {
	for _, clamp := range []bool{true, false} {
		for _, finished := range []bool{true, false} {
			t.Run(fmt.Sprintf("clamp %t, checksum made %t", clamp, finished), func(t *testing.T) {
				b := newBed(t, config.MPLSoUDP).withIPv6()
				b.a.config.Networks[0].MSSClamp, b.b.config.Networks[0].MSSClamp = &clamp, &clamp
				for _, n := range []*node{b.a, b.b} {
					offload(n.Namespace, "wire0", map[string]bool{"tx-checksum-ip-generic": false})
				}
				for _, c := range []*container{b.a1, b.b1} {
					offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": !finished})
				}
				b.run("--lease")
				want := containerMTU - 40 - timestamps
				if clamp {
					want = innerMTU(config.MPLSoUDP) - 40 - timestamps
				}
				if got := tcp(t, b.a1, b.b1, 1<<20); got != want {
					t.Errorf("the connection began with segments of %d bytes, not %d", got, want)
				}
				// One ARP request; and packets that were too big, without the clamp.
				if s := b.a.addsUp(); (s.Answered.Packets == 1) != clamp {
					t.Errorf("answered: %+v", s.Answered)
				}
				if got := tcp(t, b.a1.six(), b.b1.six(), 1<<20); got != want-20 {
					t.Errorf("over IPv6, the connection began with segments of %d bytes, not %d", got, want-20)
				}
			})
		}
	}
}
