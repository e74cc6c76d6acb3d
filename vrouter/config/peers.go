package config

import (
	"fmt"
	"net/netip"

	"windtunnel/vrouter/core"
)

// Over IPv6, tunnel packets without a UDP checksum are taken from known nodes only: vr_outer_checked in
// vr_decide_fabric.h says why. Those are the far ends of all ways, and Fabric.Peers.

// maxPeers bounds Fabric.Peers: it is for subnets of nodes, not for a list of them.
const maxPeers = 256

// peersID is the table's; no network's name has a blank.
var peersID = ID(" peers")

// addPeers makes the table, with what the configuration names.
func (b *builder) addPeers() error {
	b.next.VRFs[core.PeersVRF] = core.VRF{ID: peersID}
	delete(b.next.tables, core.PeersVRF) // Refresh begins with the table as it was
	for _, p := range b.config.Fabric.Peers {
		b.addPeerPrefix(p)
	}
	return nil
}

// addPeer makes the far end of a way known.
func (b *builder) addPeer(far netip.Addr) {
	if far.Is6() {
		b.addPeerPrefix(netip.PrefixFrom(far, far.BitLen()))
		b.peers = true
	}
}

// addPeerPrefix puts in a route that no packet follows; it only has to be there, so it is not all zero.
func (b *builder) addPeerPrefix(p netip.Prefix) {
	const label = 1
	b.addRoute(core.PeersVRF, p, 0, label)
}

func (k *checker) peers() *Error {
	f := k.config.Fabric
	switch {
	case len(f.Peers) > 0 && !f.Address6.IsValid():
		return bad("fabric.peers", `they are of tunnels over IPv6; give the fabric an "address6", or leave them out`)
	case len(f.Peers) > maxPeers:
		return bad("fabric.peers", "%d are more than the %d there is room for; name the subnets that the nodes are in", len(f.Peers), maxPeers)
	}
	for i, p := range f.Peers {
		switch path := fmt.Sprintf("fabric.peers[%d]", i); {
		case !p.IsValid() || !p.Addr().Is6() || p.Addr().Is4In6():
			return bad(path, "%s is no IPv6 prefix, such as fd00:f::/64", p)
		case p != p.Masked():
			return bad(path, "%s has bits behind its prefix; did you mean %s?", p, p.Masked())
		}
	}
	return nil
}
