package vrouter_test

import (
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// newKernelPeer is a bed whose node b is the kernel's own VXLAN device, which routes and has no
// vRouter: a1 reaches 10.0.1.4, which is the device's address.
func newKernelPeer(t *testing.T, six, checksum bool) (*node, *container, *container) {
	lab.NeedRoot(t)
	a := newNode(t, "a", "10.0.0.1")
	here, there, mtu := "10.0.0.1", "10.0.0.2", innerMTU(config.VXLAN)
	peer := &container{Namespace: lab.NewNamespace(t), address: netip.MustParseAddr("10.0.1.4")}
	lab.Veth(a.Namespace, "wire0", peer.Namespace, "wire0", wireMTU, "")
	if six {
		a.config.Fabric.Address, a.config.Fabric.Address6 = netip.Addr{}, fabric6(1)
		here, there, mtu = fabric6(1).String(), fabric6(2).String(), innerMTU6(config.VXLAN)
	}
	for n, address := range map[*lab.Namespace]string{a.Namespace: here, peer.Namespace: there} {
		if six {
			lab.EnableIPv6(n, "wire0")
		}
		n.Address("wire0", address+map[bool]string{true: "/64", false: "/24"}[six])
	}
	mac := lab.VXLAN(peer.Namespace, "vx0", "wire0", vni, there, here, checksum)
	peer.SetMTU("vx0", mtu)
	peer.Address("vx0", "10.0.1.4/24")
	a1 := a.port("a1", 3, 0)
	lab.EnableIPv6(peer.Namespace, "vx0")
	peer.Address("vx0", "fd00:1::4/64")
	for _, address := range []netip.Addr{a1.address, a1.six().address} {
		lab.Neighbour(peer.Namespace, "vx0", address.String(), config.GatewayMAC.String())
	}
	via := config.Via{Tunnel: netip.MustParseAddr(there), Encapsulation: config.VXLAN}
	var err error
	via.MAC, err = config.ParseMAC(mac)
	a.Must("reading a MAC", err)
	a.config.Routes = []config.Route{{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.4/32"), Via: via}}
	(&bed{a: a, a1: a1}).withIPv6()
	return a, a1, peer
}

// TestKernelVXLAN: the kernel's VXLAN device and the vRouter understand each other, with aggregates
// that cross the wire whole, and with such that are cut at one hop or the other; with the device's
// outer checksum and without.
func TestKernelVXLAN(t *testing.T) {
	for name, checksum := range map[string]bool{"no outer checksum": false, "outer checksum": true} {
		t.Run(name, func(t *testing.T) {
			a, a1, peer := newKernelPeer(t, false, checksum)
			kernelPeer(t, a, a1, peer, innerMTU(config.VXLAN))
		})
		t.Run("over IPv6, "+name, func(t *testing.T) {
			a, a1, peer := newKernelPeer(t, true, checksum)
			kernelPeer(t, a, a1, peer, innerMTU6(config.VXLAN))
		})
	}
}

func kernelPeer(t *testing.T, a *node, a1, peer *container, mtu int) {
	t.Helper()
	a.run("--lease")
	lab.Await(t, "the tunnel is resolved", a.resolved)
	reachPeer(t, a1, peer, mtu, true)
	offload(a.Namespace, "wire0", noSegmentation)
	offload(peer.Namespace, "wire0", noSegmentation)
	reachPeer(t, a1, peer, mtu, false)
	offload(a1.Namespace, "eth0", noSegmentation)
	offload(peer.Namespace, "vx0", map[string]bool{"tx-tcp-segmentation": false, "tx-generic-segmentation": false, "tx-checksum-ip-generic": false})
	reachPeer(t, a1, peer, mtu, false)
	drops := a.addsUp().Drops
	delete(drops, "inner_wrong_mac") // what the peer's device tells everybody of its link
	onlyOfTheLink(t, drops)
}

func reachPeer(t *testing.T, a1, peer *container, mtu int, whole bool) {
	t.Helper()
	for _, pair := range [][2]*container{{a1, peer}, {peer, a1}} {
		from, to := pair[0], pair[1]
		if err := ping(from, to.address, 56); err != nil {
			t.Errorf("ping from %s: %v", from.address, err)
		}
		if err := ping(from, to.address, mtu-28); err != nil {
			t.Errorf("the largest ping from %s: %v", from.address, err)
		}
		if err := ping6(from.six(), to.six().address, mtu-48); err != nil {
			t.Errorf("the largest IPv6 ping from %s: %v", from.address, err)
		}
		for _, pair := range [][2]*container{{from, to}, {from.six(), to.six()}} {
			tcp(t, pair[0], pair[1], bulk)
			udpAggregate(t, pair[0], pair[1], 1200, 20, whole)
		}
	}
}
