package vrouter_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// fabric6 is a node's IPv6 address on the wire.
func fabric6(node byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfd, 3: 0xf, 15: node})
}

// innerMTU6 is what a tunnel over IPv6 leaves of the wire's.
func innerMTU6(e config.Encapsulation) int {
	if e == config.NoEncapsulation {
		return wireMTU
	}
	return innerMTU(e) - 20
}

// overIPv6 gives the nodes IPv6 addresses, and no IPv4 ones that the vRouter knows of; routes lead to
// those.
func (b *bed) overIPv6() *bed {
	for i, n := range []*node{b.a, b.b} {
		n.withFabric6(byte(i + 1))
		n.config.Fabric.Address = netip.Addr{}
		for j, r := range n.config.Routes {
			n.config.Routes[j].Via.Tunnel = fabric6(r.Via.Tunnel.As4()[3])
		}
	}
	return b
}

func (n *node) withFabric6(last byte) {
	n.t.Helper()
	lab.EnableIPv6(n.Namespace, "wire0")
	n.Address("wire0", fabric6(last).String()+"/64")
	n.config.Fabric.Address6 = fabric6(last)
}

// TestOverIPv6: as TestForward, TestSegmentsOnTheWire, TestMTU and TestIPv6, with tunnels over IPv6.
func TestOverIPv6(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b, mtu := newBed(t, encapsulation).withIPv6().overIPv6(), innerMTU6(encapsulation)
			b.run("--lease")
			crosses(t, b, mtu, true)
			offload(b.a.Namespace, "wire0", noSegmentation)
			offload(b.b.Namespace, "wire0", noSegmentation)
			crosses(t, b, mtu, false)
			offload(b.a1.Namespace, "eth0", noSegmentation)
			offload(b.b1.Namespace, "eth0", noSegmentation)
			offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
			crosses(t, b, mtu, false)
			if encapsulation != config.NoEncapsulation { // else the containers' own MTU is the bound
				mtu4(t, b, mtu)
				mtu6(t, b, mtu)
			}
			onlyOfTheLink(t, b.a.addsUp().Drops)
			onlyOfTheLink(t, b.b.addsUp().Drops)
		})
	}
}

// crosses sends by both families, both ways over the wire; what arrives is what was sent.
func crosses(t *testing.T, b *bed, mtu int, whole bool) {
	t.Helper()
	for _, pair := range [][2]*container{{b.a1, b.b1}, {b.b1, b.a1}, {b.a1.six(), b.b1.six()}, {b.b1.six(), b.a1.six()}} {
		headers := 28
		if pair[0].address.Is6() {
			headers = 48
		}
		tcp(t, pair[0], pair[1], bulk/4)
		udpAggregate(t, pair[0], pair[1], 1200, 40, whole)
		udpAggregate(t, pair[0], pair[1], mtu-headers, 40, whole)
	}
}

// TestReceiveOverIPv6: TCP is joined by XDP out of each encapsulation, and out of VXLAN by the socket.
func TestReceiveOverIPv6(t *testing.T) {
	ways := map[config.Encapsulation][]config.Receive{
		config.MPLSoUDP: {config.ReceiveXDP}, config.MPLSoGRE: {config.ReceiveXDP}, config.VXLAN: {config.ReceiveXDP, config.ReceiveSocket},
	}
	for encapsulation, ways := range ways {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%s by %s", encapsulation, way), func(t *testing.T) {
				b, mtu := newBed(t, encapsulation).withIPv6().overIPv6(), innerMTU6(encapsulation)
				b.a1.SetMTU("eth0", mtu) // so that fragments fit
				b.asNIC()
				b.receive(way)
				b.run("--lease")
				crosses(t, b, mtu, false)
				fragments(t, b.a1, b.b1)
				fragments(t, b.a1.six(), b.b1.six())
				s := b.b.addsUp()
				if s.ReceivedFabric.Segments < 4*s.ReceivedFabric.Packets {
					t.Errorf("%d packets for %d segments: GRO joined few", s.ReceivedFabric.Packets, s.ReceivedFabric.Segments)
				}
				onlyOfTheLink(t, s.Drops)
			})
		}
	}
}

// TestBothFamilies: a node reaches one container over IPv4 and another over IPv6, as it is told route by
// route; a single route changes its family while the vRouter runs.
func TestBothFamilies(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.withFabric6(1)
	b.b.withFabric6(2)
	b.b.config.Routes[1].Via = config.Via{Tunnel: fabric6(1), Encapsulation: config.VXLAN}
	b.a.config.Fabric.Peers = []netip.Prefix{netip.MustParsePrefix("fd00:f::/64")} // no route of a leads there
	b.run("--lease")
	tcp(t, b.b1, b.a1, 1<<20) // there over IPv4, and back
	tcp(t, b.b1, b.a2, 1<<20) // there over IPv6, back over IPv4
	var far []string
	for _, n := range ask[[]control.Nexthop](b.b, "nh") {
		if n.Type == "tunnel" {
			far = append(far, fmt.Sprint(n.Tunnel, " ", n.Wrap, " ", n.MTU))
		}
	}
	slices.Sort(far)
	if want := []string{"10.0.0.1 mplsoudp 1468", "fd00:f::1 vxlan 1430"}; !slices.Equal(far, want) {
		t.Errorf("the tunnels are %q, not %q", far, want)
	}
	if s := ask[control.Status](b.a, "status"); s.Address != "10.0.0.1" || s.Address6 != "fd00:f::1" {
		t.Errorf("the status is %+v", s)
	}
	via := config.Via{Tunnel: fabric6(2), Encapsulation: config.MPLSoGRE, Label: 17}
	back := config.Change{Network: "network1", Prefix: netip.MustParsePrefix("10.0.7.0/24"), Via: &config.Via{Tunnel: fabric6(1), Encapsulation: config.MPLSoGRE, Label: 99}}
	b.b.Must("making a peer", b.b.changeRoutes([]config.Change{back}))
	b.a.Must("changing a route", b.a.changeRoutes([]config.Change{{Network: "network1", Prefix: b.a.config.Routes[0].Prefix, Via: &via}}))
	lab.Await(t, "the new tunnel is resolved", b.a.resolved)
	tcp(t, b.a1, b.b1, 1<<20)
	b.a.addsUp()
	b.b.addsUp()
}

// TestUnknownPeer: packets without a checksum are taken from a node that a route leads to, or that is in
// a subnet of peers; from another they are a named drop. Either may come while the vRouter runs.
func TestUnknownPeer(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).overIPv6()
	routes := b.b.config.Routes
	b.b.config.Routes = nil
	b.run("--lease")
	arrives := func(want bool) {
		t.Helper()
		receiver := udpSocket(t, b.b1, 0)
		before := ask[control.Stats](b.b, "stats").Drops["unknown_peer"]
		if _, err := udpSocket(t, b.a1, 0).WriteTo([]byte("datagram"), receiver.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if !want {
			lab.Await(t, "it is dropped by its name", func() bool { return ask[control.Stats](b.b, "stats").Drops["unknown_peer"] == before+1 })
			return
		}
		receiver.SetReadDeadline(time.Now().Add(patience))
		if _, err := receiver.Read(make([]byte, 64)); err != nil {
			t.Error(err)
		}
	}
	peers := func(prefixes ...netip.Prefix) {
		t.Helper()
		b.b.config.Fabric.Peers = prefixes
		b.b.Must("applying", b.b.apply())
	}
	arrives(false)
	peers(netip.MustParsePrefix("fd00:f::/64"))
	arrives(true)
	peers(netip.MustParsePrefix("fd00:e::/64"))
	arrives(false)
	peers(netip.MustParsePrefix("::/0"))
	arrives(true)
	peers()
	arrives(false)
	b.b.Must("adding a route", b.b.changeRoutes([]config.Change{{Network: "network1", Prefix: routes[0].Prefix, Via: &routes[0].Via}}))
	arrives(true)
	if text := fmt.Sprint(ask[[]control.Route](b.b, "rt")); strings.Contains(text, "fd00:") {
		t.Errorf("peers are shown as routes: %s", text)
	}
	b.b.addsUp()
}

// TestIPv6NeighbourMoves: as TestNeighbourMoves, by neighbour discovery.
func TestIPv6NeighbourMoves(t *testing.T) {
	b := newBed(t, config.VXLAN).overIPv6()
	b.run("--lease")
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Fatal(err)
	}
	b.b.SetMAC("wire0", "02:00:00:00:99:99") // the kernel then forgets b's neighbours by itself
	lab.Neighbour(b.b.Namespace, "wire0", fabric6(1).String(), b.a.Link("wire0").Attrs().HardwareAddr.String())
	b.a.Forget("wire0")
	lab.Await(t, "the new MAC is in the table", func() bool {
		return slices.ContainsFunc(ask[[]control.Nexthop](b.a, "nh"), func(n control.Nexthop) bool { return n.MAC == "02:00:00:00:99:99" })
	})
	lab.Await(t, "the way back is resolved", b.b.resolved)
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
}

// TestIPv6Gateway: a far end behind a router is reached by the MAC of that one's link-local address,
// which is how IPv6 routes name routers, and IPv4 ones may.
func TestIPv6Gateway(t *testing.T) {
	for far, prefix := range map[string]string{"fd00:e::2": "fd00:e::/64", "10.9.0.2": "10.9.0.0/24"} {
		t.Run(far, func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			b.a.withFabric6(1)
			b.b.withFabric6(2)
			to := netip.MustParseAddr(far)
			b.b.Address("wire0", netip.PrefixFrom(to, to.BitLen()).String())
			b.a.Route("wire0", prefix, b.b.LinkLocal("wire0"))
			if b.b.config.Fabric.Address = to; to.Is6() {
				b.b.config.Fabric.Address, b.b.config.Fabric.Address6 = netip.MustParseAddr("10.0.0.2"), to
				b.b.config.Fabric.Peers = []netip.Prefix{netip.MustParsePrefix("fd00:f::/64")}
			}
			b.a.config.Routes[0].Via.Tunnel = to
			b.run("--lease")
			if err := ping(b.a1, b.b1.address, 56); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTraceOverIPv6: a trace tells both ends of such a tunnel, and a live one finds it by its far end.
func TestTraceOverIPv6(t *testing.T) {
	b := newBed(t, config.MPLSoGRE).overIPv6()
	b.run("--lease")
	out, code := b.a.tool("trace", "--port", "a1", "--to", b.b1.address.String(), "--proto", "udp", "--json")
	var first control.TraceReply
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != 0 || first.Out == nil || first.Result != "tunnel" {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	out, _ = b.b.tool("trace", "--fabric", "--hex", first.Out.Hex)
	for _, want := range []string{"fd00:f::1 > fd00:f::2, gre, 76 bytes, hop limit 64, flow 0x0", "tunnel   from fd00:f::1", "to port b1, straight into its namespace"} {
		if !strings.Contains(out, want) {
			t.Errorf("at the other node, no %q in: %s", want, out)
		}
	}
	if out, _ := b.a.tool("status"); !strings.Contains(out, "wire0, fd00:f::1\n") {
		t.Errorf("status: %s", out)
	}
	if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
		return
	}
	links, shown := len(b.b.held()["link_id"]), make(chan string)
	go func() {
		out, _ := b.b.tool("trace", "--live", "--host", "fd00:f::1", "--port", "b1", "--count", "1", "--seconds", "20")
		shown <- out
	}()
	lab.Await(t, "the watch stands", func() bool { return len(b.b.held()["link_id"]) == links+2 })
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
	if out := <-shown; !strings.HasSuffix(out, "1 packets matched\n") || !strings.Contains(out, "from fd00:f::1") {
		t.Errorf("live: %s", out)
	}
}

// TestFabricAddressLost: the kernel takes IPv6 addresses off an interface that is set down. The status
// says so until it is back, and what is else about the machine is followed meanwhile.
func TestFabricAddressLost(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).overIPv6()
	b.run("--lease")
	status := func() control.Status { return ask[control.Status](b.a, "status") }
	b.a.RemoveAddress("wire0", "fd00:f::1/64")
	lab.Await(t, "the status has a problem", func() bool { return strings.Contains(status().Problem, "`ip address add fd00:f::1/64 dev wire0`") })
	if out, code := b.a.tool("status"); code != 0 || !strings.Contains(out, "problem   the fabric's interface wire0 has no address fd00:f::1") {
		t.Errorf("exit %d: %s", code, out)
	}
	b.a.Delete("v-a2")
	lab.Await(t, "a port is missing", func() bool { return len(status().Missing) == 1 })
	b.a.Address("wire0", "fd00:f::1/64")
	lab.Await(t, "there is no problem", func() bool { return status().Problem == "" })
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
}

// TestNoFabricAddress: an address that the interface has not, or cannot have, is refused, with the
// command that helps.
func TestNoFabricAddress(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.config.Fabric.Address6 = fabric6(9)
	for _, want := range []string{"`ip address add fd00:f::9/64 dev wire0`", "`ip link set wire0 mtu 1500`"} {
		run := vrouterCommand(t, "run", "--config", b.a.write(), "--socket", b.a.socket(), "--lease")
		b.a.stderr.Reset()
		run.Stderr = &b.a.stderr
		b.a.Start(run)
		if err := run.Wait(); err == nil || !strings.Contains(b.a.stderr.String(), want) {
			t.Errorf("%v: %s", err, b.a.stderr.String())
		}
		b.a.SetMTU("wire0", 1279)
	}
}
