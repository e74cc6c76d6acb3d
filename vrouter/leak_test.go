package vrouter_test

import (
	"net/netip"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// secondNetwork gives a node network2, and routes that join it with network1.
func (n *node) secondNetwork() {
	n.config.Networks[0].Label = 40
	n.config.Networks = append(n.config.Networks, config.Network{
		Name: "network2", Subnet: netip.MustParsePrefix("10.0.2.0/24"), Gateway: netip.MustParseAddr("10.0.2.254"), VNI: vni + 1, Label: 50,
	}, config.Network{Name: "network3", Subnet: netip.MustParsePrefix("10.0.3.0/24"), Gateway: netip.MustParseAddr("10.0.3.254")})
	n.config.Routes = append(n.config.Routes,
		config.Route{Network: "network1", Prefix: netip.MustParsePrefix("10.0.2.0/24"), Via: config.Via{Network: "network2"}},
		config.Route{Network: "network2", Prefix: netip.MustParsePrefix("10.0.1.0/24"), Via: config.Via{Network: "network1"}})
}

// portOf makes a container of network2 or network3, without a label.
func (n *node) portOf(name, network string, address netip.Addr) *container {
	n.t.Helper()
	c, last := &container{Namespace: lab.NewNamespace(n.t), address: address}, address.As4()
	mac := config.MAC{2, 0, 0, 0, last[2], last[3]}
	lab.Veth(n.Namespace, "v-"+name, c.Namespace, "eth0", containerMTU, mac.String())
	c.Address("eth0", address.String()+"/24")
	n.config.Ports = append(n.config.Ports, config.Port{Name: name, Interface: "v-" + name, Network: network, Address: address, MAC: mac})
	lab.Route(c.Namespace, "eth0", "10.0.1.0/24", netip.AddrFrom4([4]byte{10, 0, last[2], 254}).String())
	return c
}

// TestLeak: networks that routes join reach each other, on one node and on two, by a network's label and
// by its VNI; a network that none leads to does not, and what is taken back is cut off at once.
func TestLeak(t *testing.T) {
	for _, encapsulation := range []config.Encapsulation{config.MPLSoUDP, config.VXLAN} {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation)
			for _, n := range []*node{b.a, b.b} {
				n.secondNetwork()
			}
			here := b.a.portOf("here", "network2", netip.MustParseAddr("10.0.2.3"))
			there := b.b.portOf("there", "network2", netip.MustParseAddr("10.0.2.4"))
			stranger := b.a.portOf("stranger", "network3", netip.MustParseAddr("10.0.3.3"))
			lab.Route(b.a1.Namespace, "eth0", "10.0.2.0/24", "10.0.1.254")
			b.a.routeOf("network2", "10.0.2.4/32", "10.0.0.2", encapsulation, 50)
			if encapsulation == config.MPLSoUDP { // what b sends to a1 has the label of a's network1, not the port's
				b.b.config.Routes[0].Via.Label = 40
			}
			b.run("--lease")
			for _, c := range []*container{here, there} {
				if err := ping(b.a1, c.address, 56); err != nil {
					t.Errorf("ping to %s: %v", c.address, err)
				}
				tcp(t, b.a1, c, bulk/8)
				tcp(t, c, b.a1, bulk/8)
			}
			if s := b.a.addsUp(); s.Dropped.Packets != 0 {
				t.Errorf("lost: %v", s.Drops)
			}
			out, _ := b.a.tool("trace", "--port", "a1", "--to", "10.0.2.4")
			for _, line := range []string{"10.0.2.4 matches 10.0.2.0/24 in network1", "vrf-translate to network2", "10.0.2.4 matches 10.0.2.4/32 in network2"} {
				if !strings.Contains(out, line) {
					t.Errorf("the trace has no %q: %s", line, out)
				}
			}
			b.cutOff(stranger)
			b.b.addsUp()
		})
	}
}

func (n *node) routeOf(network, prefix, tunnel string, encapsulation config.Encapsulation, label uint32) {
	n.route(prefix, tunnel, encapsulation, label)
	n.config.Routes[len(n.config.Routes)-1].Network = network
}

// cutOff: a network that no route leads to gets nothing, nor does one whose route is gone.
func (b *bed) cutOff(stranger *container) {
	t := b.a.t
	t.Helper()
	if out, code := b.a.tool("rt", "del", "10.0.2.0/24", "--network", "network1"); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, try := range []struct {
		from *container
		to   string
	}{{stranger, "10.0.1.3:9"}, {b.a1, "10.0.2.3:9"}, {b.a1, "10.0.2.4:9"}} {
		for range 4 {
			if _, err := udpSocket(t, try.from, 0).WriteToUDPAddrPort([]byte("nobody"), netip.MustParseAddrPort(try.to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	lab.Await(t, "12 packets have no route", func() bool { return ask[control.Stats](b.a, "stats").Drops["no_route"] == 12 })
	if s := b.a.addsUp(); s.Dropped.Packets != 12 {
		t.Errorf("lost: %v", s.Drops)
	}
}
