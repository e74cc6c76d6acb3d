package vrouter_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// bridged makes a bed's network one link: each node names the other, and the hosts there.
func (b *bed) bridged() *bed {
	return b.bridgedBy(config.VXLAN, config.Bridge{})
}

// bridgedBy wraps the link's frames in an encapsulation. The nodes' bridges are alike but for their labels.
func (b *bed) bridgedBy(e config.Encapsulation, bridge config.Bridge) *bed {
	for i, n := range []*node{b.a, b.b} {
		own := bridge
		if e != config.VXLAN {
			own.Label = bridgeLabel(i)
			n.config.Networks[0].VNI = 0
		}
		n.config.Networks[0].Bridge, n.config.Routes = &own, nil
	}
	b.a.bridgeTo(b.b, e, bridgeLabel(1), b.b1)
	b.b.bridgeTo(b.a, e, bridgeLabel(0), b.a1, b.a2)
	return b
}

func bridgeLabel(node int) uint32 { return 61 + uint32(node) }

// fabric is the node's address on the wire.
func (n *node) fabric() netip.Addr {
	if f := n.config.Fabric; f.Address.IsValid() {
		return f.Address
	}
	return n.config.Fabric.Address6
}

func (n *node) bridgeTo(other *node, e config.Encapsulation, label uint32, hosts ...*container) {
	bridge := n.config.Networks[0].Bridge
	via := config.Via{Tunnel: other.fabric(), Encapsulation: e}
	if e != config.VXLAN {
		via.Label = label
	}
	bridge.Nodes = append(bridge.Nodes, via)
	for _, h := range hosts {
		bridge.Hosts = append(bridge.Hosts, config.Host{MAC: h.mac(), Via: via})
	}
}

func (c *container) mac() config.MAC {
	return config.MAC(c.Link("eth0").Attrs().HardwareAddr)
}

// TestBridge: containers of a link find each other by ARP and neighbour discovery, through copies of
// their questions, and are one hop apart; aggregates cross it whole and in pieces.
func TestBridge(t *testing.T) {
	b := newBed(t, config.VXLAN).withIPv6().bridged()
	b.run("--lease")
	forwards(t, b, innerMTU(config.VXLAN), true)
	forwards6(t, b, innerMTU(config.VXLAN), true)
	b.oneHop(t)
	offload(b.a.Namespace, "wire0", noSegmentation)
	offload(b.b.Namespace, "wire0", noSegmentation)
	forwards(t, b, innerMTU(config.VXLAN), false)
	offload(b.a1.Namespace, "eth0", noSegmentation)
	offload(b.b1.Namespace, "eth0", noSegmentation)
	offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
	forwards6(t, b, innerMTU(config.VXLAN), false)
	mtu6(t, b, innerMTU(config.VXLAN))
	for _, n := range []*node{b.a, b.b} {
		s := n.addsUp()
		onlyOfTheLink(t, s.Drops)
		if s.Flooded.Packets == 0 || s.Copies.Packets < s.Flooded.Packets || s.CopiesDropped.Packets != 0 {
			t.Errorf("%s flooded %+v, in copies %+v; lost %v", n.config.Name, s.Flooded, s.Copies, s.CopyDrops)
		}
	}
}

// oneHop: each container knows the other's own MAC address, not the gateway's.
func (b *bed) oneHop(t *testing.T) {
	t.Helper()
	for _, to := range []*container{b.b1, b.a2} {
		if got := lab.NeighbourOf(b.a1.Namespace, "eth0", to.address.String()); got != to.mac().String() {
			t.Errorf("a1 takes %s for %q, not %s", to.address, got, to.mac())
		}
	}
}

// TestBridgeMTU: the largest packet passes, and one byte more is answered with the MTU.
func TestBridgeMTU(t *testing.T) {
	b := newBed(t, config.VXLAN).bridged()
	b.run("--lease")
	mtu := innerMTU(config.VXLAN)
	if err := ping(b.a1, b.b1.address, mtu-28); err != nil {
		t.Errorf("the largest packet: %v", err)
	}
	var big tooBig
	if err := ping(b.a1, b.b1.address, mtu-27); !errors.As(err, &big) || big.mtu != mtu {
		t.Errorf("one byte more: %v, not an answer with the MTU %d", err, mtu)
	}
	if mss := tcp(t, b.a1, b.b1, 1<<20); mss > mtu-40 {
		t.Errorf("TCP began with segments of %d bytes", mss)
	}
	b.a.addsUp()
}

// TestBridgeKernelVXLAN: the kernel's VXLAN device, whose remote is the node, is another host of the
// link: each finds the other by ARP and neighbour discovery.
func TestBridgeKernelVXLAN(t *testing.T) {
	for name, k := range map[string]struct {
		six, known bool // over IPv6; the device's MAC address is configured, and nothing unknown is flooded
		tunnel     netip.Addr
		mtu        int
	}{
		"flooded":   {false, false, netip.MustParseAddr("10.0.0.2"), innerMTU(config.VXLAN)},
		"known":     {false, true, netip.MustParseAddr("10.0.0.2"), innerMTU(config.VXLAN)},
		"over IPv6": {true, false, fabric6(2), innerMTU6(config.VXLAN)},
	} {
		t.Run(name, func(t *testing.T) {
			a, a1, peer := newKernelPeer(t, k.six, false)
			a2 := a.port("a2", 5, 0)
			for _, address := range []string{a1.address.String(), a1.six().address.String()} {
				lab.ForgetNeighbour(peer.Namespace, "vx0", address)
			}
			via := config.Via{Tunnel: k.tunnel, Encapsulation: config.VXLAN}
			bridge := &config.Bridge{Nodes: []config.Via{via}}
			if k.known {
				bridge.Unknown = config.DropUnknown
				bridge.Hosts = []config.Host{{MAC: config.MAC(peer.Link("vx0").Attrs().HardwareAddr), Via: via}}
			}
			a.config.Networks[0].Bridge, a.config.Routes = bridge, nil
			kernelPeer(t, a, a1, peer, k.mtu)
			if err := errors.Join(ping(peer, a2.address, 56), ping(a2, peer.address, 56)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBridgeBroadcast: what one says to all, everybody else of its network hears once, on its node and
// the other, and nobody of another network, though that has the same addresses.
func TestBridgeBroadcast(t *testing.T) {
	b := newBed(t, config.VXLAN)
	other := config.Network{Name: "network2", Subnet: netip.MustParsePrefix("10.0.1.0/24"), Gateway: netip.MustParseAddr("10.0.1.254"), VNI: vni + 1, Bridge: &config.Bridge{}}
	b.bridged()
	stranger := b.a.port("a3", 4, 0)
	b.a.config.Networks = append(b.a.config.Networks, other)
	b.a.config.Ports[2].Network = other.Name
	b.run("--lease")
	heard := make(map[string]*lab.Tap)
	for name, c := range map[string]*container{"a2": b.a2, "b1": b.b1, "a1 itself": b.a1, "the other network": stranger} {
		heard[name] = lab.NewTap(c.Namespace, "eth0")
	}
	s := broadcasting(t, b.a1)
	for range 3 {
		_, err := s.WriteToUDPAddrPort([]byte("to all"), netip.MustParseAddrPort("10.0.1.255:9"))
		b.a.Must("sending to all", err)
	}
	for _, name := range []string{"a2", "b1"} {
		for i := range 3 {
			if frame := heard[name].Next(); len(frame) != 14+28+6 {
				t.Errorf("%s, %d: %x", name, i, frame)
			}
		}
	}
	stats := b.a.addsUp()
	if stats.Flooded.Packets != 3 || stats.Copies.Packets != 6 || stats.Forwarded.Packets != 3 {
		t.Errorf("of 3 packets, %d were flooded in %d copies, and %d forwarded", stats.Flooded.Packets, stats.Copies.Packets, stats.Forwarded.Packets)
	}
	if stats := b.b.addsUp(); stats.Flooded.Packets != 3 || stats.Copies.Packets != 3 {
		t.Errorf("node b flooded %d in %d copies", stats.Flooded.Packets, stats.Copies.Packets)
	}
	for name, tap := range heard {
		if frame := tap.Pending(); frame != nil {
			t.Errorf("%s heard another: %x", name, frame)
		}
	}
	if tx := ask[[]control.Vif](b.a, "vif")[1].Tx.Packets; tx != 3 {
		t.Errorf("a2 was given %d packets", tx)
	}
}

// TestBridgeTools: the tables show the link, and a trace tells what becomes of its frames.
func TestBridgeTools(t *testing.T) {
	b := newBed(t, config.VXLAN).bridged()
	b.run("--lease")
	for command, want := range map[string][]string{
		"mac":                           {"network1  02:00:00:00:01:04", "10.0.0.2", "02:00:00:00:01:05", "a2"},
		"flood":                         {"network1", "a1", "a2", "10.0.0.2"},
		"vxlan":                         {fmt.Sprint(vni), "network1  bridged"},
		"trace --port a1 --to 10.0.1.5": {"02:00:00:00:01:05 is one of network1", "the frame goes on as it is", "to port a2"},
		"trace --port a1 --to 10.0.1.4 --mac 02:00:00:00:01:04":             {"the whole frame gets the tunnel's headers", "by the fabric wire0", "02:00:00:00:01:03 > 02:00:00:00:01:04"},
		"trace --port a1 --to 10.0.1.4 --proto arp":                         {"copy", "to port a2", "to 10.0.0.2", "for all of the network"},
		"trace --port a1 --to 10.0.1.254 --proto arp":                       {"answered with the virtual gateway's MAC"},
		"trace --port a1 --to 10.0.1.7 --mac 02:00:00:00:01:77":             {"02:00:00:00:01:77 is nobody's in network1", "to port a2"},
		"trace --port a1 --to 10.0.1.5 --from 10.0.1.4":                     {"spoofed_address"},
		"trace --port a1 --to 10.0.1.4 --size 1451 --mac 02:00:00:00:01:04": {"1451 bytes are more than the way's MTU, 1450", "the sender is told the MTU"},
	} {
		out, _ := b.a.tool(strings.Fields(command)...)
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: not %q in\n%s", command, text, out)
			}
		}
	}
	if s := b.a.addsUp(); s.Flooded.Packets != 0 || s.Copies.Packets != 0 {
		t.Errorf("traces were counted: %+v", s)
	}
}

// TestBridgeWire: an independent decoder has nothing to object to in bridged frames either.
func TestBridgeWire(t *testing.T) {
	b := newBed(t, config.VXLAN).withIPv6().bridged()
	wire(t, b, innerMTU(config.VXLAN), onTheWire[config.VXLAN])
}

// TestBridgeReceive: however routed packets are received, bridged ones arrive, and are in the account
// once.
func TestBridgeReceive(t *testing.T) {
	for _, way := range []config.Receive{config.ReceiveSocket, config.ReceiveXDP} {
		t.Run(string(way), func(t *testing.T) {
			b := newBed(t, config.VXLAN).bridged()
			b.receive(way)
			b.run("--lease")
			forwards(t, b, innerMTU(config.VXLAN), true)
			b.oneHop(t)
			for _, n := range []*node{b.a, b.b} {
				if s := n.addsUp(); s.Dropped.Packets != 0 || s.CopiesDropped.Packets != 0 {
					t.Errorf("%s lost %v, and copies %v", n.config.Name, s.Drops, s.CopyDrops)
				}
			}
		})
	}
}
