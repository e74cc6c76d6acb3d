package config

import (
	"fmt"
	"net/netip"
	"slices"

	"windtunnel/vrouter/core"
)

// maxLabel is the largest that RFC 3032 has bits for.
const maxLabel = 1<<20 - 1

func (k *checker) route(path string, r Route) *Error {
	if err := k.routeTarget(path, r.Network, r.Prefix); err != nil {
		return err
	}
	key := "route " + r.Network + " " + r.Prefix.String()
	if k.seen[key] {
		return bad(path+".prefix", "there is a second route to %s in %s", r.Prefix, r.Network)
	}
	k.seen[key] = true
	return k.via(path+".via", k.networks[r.Network], r.Prefix, r.Via)
}

// routeTarget checks where to a route of a network leads: not to what is on this node.
func (k *checker) routeTarget(path, network string, prefix netip.Prefix) *Error {
	if _, err := k.knownNetwork(path, network); err != nil {
		return err
	}
	switch {
	case !prefix.IsValid() || prefix.Addr().Is4In6():
		return bad(path+".prefix", "%s is no IPv4 or IPv6 prefix", prefix)
	case prefix.Addr().Is6() && !k.networks[network].Subnet6.IsValid():
		return bad(path+".prefix", "%s is IPv6, and the network %s has none; give it a subnet6 and a gateway6", prefix, network)
	case prefix != prefix.Masked():
		return bad(path+".prefix", "%s has bits behind its prefix; did you mean %s?", prefix, prefix.Masked())
	case !prefix.IsSingleIP():
		return nil
	}
	if port, ok := k.hosts["network "+network+" "+prefix.Addr().String()]; ok {
		return bad(path+".prefix", "%s is port %q of this node", prefix, port)
	}
	if n := k.networks[network]; prefix.Addr() == n.Gateway || prefix.Addr() == n.Gateway6 {
		return bad(path+".prefix", "%s is the gateway of %s, which is on every node", prefix, network)
	}
	return nil
}

// viaTunnel checks a way to another node.
func (k *checker) viaTunnel(path string, n Network, v Via) *Error {
	switch {
	case v.Encapsulation == "":
		return bad(path, "the key \"encapsulation\" is missing%s", nearest("", slices.Clone(encapsulations)))
	case !slices.Contains(encapsulations, string(v.Encapsulation)):
		return bad(path+".encapsulation", "there is no encapsulation %q%s", v.Encapsulation, nearest(string(v.Encapsulation), slices.Clone(encapsulations)))
	case !unicast(v.Tunnel) && !unicast6(v.Tunnel):
		return bad(path+".tunnel", "%s is no host's address, IPv4 or IPv6, of more than one link", v.Tunnel)
	case !k.config.Fabric.toward(v.Tunnel).IsValid():
		return bad(path+".tunnel", "%s", unreachable(v.Tunnel))
	case v.Tunnel == k.config.Fabric.toward(v.Tunnel):
		return bad(path+".tunnel", "%s is this node itself", v.Tunnel)
	}
	switch v.Encapsulation {
	case NoEncapsulation:
		return k.viaNothing(path, v)
	case VXLAN:
		return k.viaVXLAN(path, n, v)
	}
	return k.viaMPLS(path, v)
}

// unreachable: a tunnel's two ends are of one family.
func unreachable(far netip.Addr) string {
	family, key := "IPv6", "address6"
	if far.Is4() {
		family, key = "IPv4", "address"
	}
	return fmt.Sprintf("%s is %s, and this node has no such address to send from; give the fabric an %q, or name the far end by its address of the other family", far, family, key)
}

func (k *checker) viaNothing(path string, v Via) *Error {
	switch {
	case v.Label != 0:
		return bad(path+".label", "without encapsulation there is nothing that could carry a label")
	case v.VNI != 0:
		return bad(path+".vni", "without encapsulation there is nothing that could carry a VNI")
	case v.MAC != MAC{}:
		return bad(path+".mac", "without encapsulation packets are addressed to the neighbour, whose MAC is found by itself; leave it out")
	}
	return nil
}

func (k *checker) viaMPLS(path string, v Via) *Error {
	switch {
	case v.Label < core.MinLabel || v.Label > maxLabel:
		return bad(path+".label", "%d is not between %d and %d", v.Label, core.MinLabel, maxLabel)
	case v.VNI != 0:
		return bad(path+".vni", "MPLS carries a label, no VNI; leave it out, or use the encapsulation %q", VXLAN)
	case v.MAC != MAC{}:
		return bad(path+".mac", "MPLS carries no inner Ethernet header; leave it out, or use the encapsulation %q", VXLAN)
	}
	return nil
}

func (k *checker) viaVXLAN(path string, n Network, v Via) *Error {
	switch {
	case v.Label != 0:
		return bad(path+".label", "VXLAN carries a VNI, no label; leave it out, or use the encapsulation %q", MPLSoUDP)
	case v.VNI > maxVNI:
		return bad(path+".vni", "%d is not between 1 and %d", v.VNI, maxVNI)
	case v.VNI == 0 && n.VNI == 0:
		return bad(path+".vni", "there is no VNI, neither here nor on the network %q; give one", n.Name)
	case v.MAC[0]&1 != 0:
		return bad(path+".mac", "%s is no host's address", v.MAC)
	}
	return nil
}
