package vrouter_test

import (
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

const (
	labelHere  = 16 // of a1
	labelThere = 17 // of the kernel's own address
)

// A kernelTunnel is one of the kernel's own devices that carry MPLS, and what the vRouter calls it.
type kernelTunnel struct {
	encapsulation config.Encapsulation
	checksum      bool
	make          func(*lab.Namespace, lab.Tunnel)
}

var kernelTunnels = map[string]kernelTunnel{
	"FOU":                 {config.MPLSoUDP, false, (*lab.Namespace).FOU},
	"FOU, outer checksum": {config.MPLSoUDP, true, (*lab.Namespace).FOU},
	"bareudp":             {config.MPLSoUDP, false, (*lab.Namespace).BareUDP},
	"GRE":                 {config.MPLSoGRE, false, (*lab.Namespace).GRE},
}

// newMPLSPeer is a bed whose node b is the kernel's own MPLS router behind one of its tunnel devices, and
// has no vRouter: a1 reaches 10.0.1.4, which is the device's address.
func newMPLSPeer(t *testing.T, tunnel kernelTunnel) (*node, *container, *container) {
	lab.NeedRoot(t)
	a := newNode(t, "a", "10.0.0.1")
	here, there := "10.0.0.1", "10.0.0.2"
	peer := &container{Namespace: lab.NewNamespace(t), address: netip.MustParseAddr("10.0.1.4")}
	lab.Veth(a.Namespace, "wire0", peer.Namespace, "wire0", wireMTU, "")
	a.Address("wire0", here+"/24")
	peer.Address("wire0", there+"/24")
	tunnel.make(peer.Namespace, lab.Tunnel{Name: "mpls0", Local: there, Remote: here, Checksum: tunnel.checksum})
	peer.SetMTU("mpls0", innerMTU(tunnel.encapsulation)+4) // which counts the label
	a1 := a.port("a1", 3, labelHere)
	for _, name := range []string{"lo", "mpls0"} {
		lab.EnableIPv6(peer.Namespace, name)
	}
	peer.Address("mpls0", "10.0.1.4/32")
	peer.Address("mpls0", "fd00:1::4/128")
	peer.TakeMPLS("mpls0", labelThere)
	for _, c := range []*container{a1, a1.six()} {
		peer.Label("mpls0", c.address.String(), labelHere)
	}
	a.route("10.0.1.4/32", there, tunnel.encapsulation, labelThere)
	(&bed{a: a, a1: a1}).withIPv6()
	return a, a1, peer
}

// TestKernelMPLS: the kernel's own MPLS in UDP and in GRE and the vRouter understand each other, with
// aggregates that cross the wire whole, and with such that are cut at one hop or the other.
func TestKernelMPLS(t *testing.T) {
	for name, tunnel := range kernelTunnels {
		t.Run(name, func(t *testing.T) {
			a, a1, peer := newMPLSPeer(t, tunnel)
			mplsPeer(t, a, a1, peer, innerMTU(tunnel.encapsulation))
		})
	}
}

func mplsPeer(t *testing.T, a *node, a1, peer *container, mtu int) {
	t.Helper()
	a.run("--lease")
	lab.Await(t, "the tunnel is resolved", a.resolved)
	t.Run("whole", func(t *testing.T) { reachPeer(t, a1, peer, mtu, true) })
	offload(a.Namespace, "wire0", noSegmentation)
	offload(peer.Namespace, "wire0", noSegmentation)
	t.Run("cut on the wire", func(t *testing.T) { reachPeer(t, a1, peer, mtu, false) })
	offload(a1.Namespace, "eth0", noSegmentation)
	t.Run("cut at the container", func(t *testing.T) { reachPeer(t, a1, peer, mtu, false) })
	onlyOfTheLink(t, a.addsUp().Drops)
}
