package config

import (
	"fmt"
	"slices"

	"windtunnel/vrouter/core"
)

// bridges checks the networks that are one link, once all ports are known.
func (k *checker) bridges() *Error {
	total := 0
	for i, n := range k.config.Networks {
		if n.Bridge == nil {
			continue
		}
		path := fmt.Sprintf("networks[%d].bridge", i)
		macs, err := k.bridgePorts(n)
		if err == nil {
			err = k.bridge(path, n, macs)
		}
		if err != nil {
			return err
		}
		if total += len(macs); total > MaxMACs {
			return bad(path, "with it there are %d MAC addresses in bridged networks, and room for %d", total, MaxMACs)
		}
	}
	return nil
}

// bridgePorts finds the network's MAC addresses, each with whose it is.
func (k *checker) bridgePorts(n Network) (map[MAC]string, *Error) {
	macs := map[MAC]string{GatewayMAC: "the gateway"}
	for i, p := range k.config.Ports {
		if p.Network != n.Name {
			continue
		}
		if other, taken := macs[p.MAC]; taken {
			return nil, bad(fmt.Sprintf("ports[%d].mac", i), "%s is that of %s already, in a network that is bridged", p.MAC, other)
		}
		macs[p.MAC] = fmt.Sprintf("port %q", p.Name)
	}
	return macs, nil
}

func (k *checker) bridge(path string, n Network, macs map[MAC]string) *Error {
	b, ports := n.Bridge, len(macs)-1
	switch {
	case b.Unknown != "" && !slices.Contains(unknowns, string(b.Unknown)):
		return bad(path+".unknown", "what is for unknown addresses cannot be %q%s", b.Unknown, nearest(string(b.Unknown), slices.Clone(unknowns)))
	case n.VNI == 0 && b.Label == 0 && len(b.Nodes)+len(b.Hosts) > 0:
		return bad(path, "frames from other nodes could not be delivered; give the network %q a \"vni\", for VXLAN, or its bridge a \"label\", for MPLS", n.Name)
	case ports+len(b.Nodes) > core.FloodTargets:
		return bad(path+".nodes", "%d ports and %d nodes are more than the %d that a frame can be copied to; make the network two", ports, len(b.Nodes), core.FloodTargets)
	}
	seen := make(map[string]bool)
	for i, via := range b.Nodes {
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		if err := k.bridgeVia(at, n, via); err != nil {
			return err
		}
		if first := b.Nodes[0].Tunnel; first.Is4() != via.Tunnel.Is4() {
			return bad(at+".tunnel", "%s is not of the family of %s: the copies of a frame get headers of one length; name all nodes by addresses of one family", via.Tunnel, first)
		}
		if seen[via.Tunnel.String()] {
			return bad(at+".tunnel", "%s is there twice, and would get every frame twice", via.Tunnel)
		}
		seen[via.Tunnel.String()] = true
	}
	for i, h := range b.Hosts {
		at := fmt.Sprintf("%s.hosts[%d]", path, i)
		if h.MAC == (MAC{}) || h.MAC[0]&1 != 0 {
			return bad(at+".mac", "%s is no host's address", h.MAC)
		}
		if other, taken := macs[h.MAC]; taken {
			return bad(at+".mac", "%s is that of %s already", h.MAC, other)
		}
		macs[h.MAC] = "another host"
		if err := k.bridgeVia(at+".via", n, h.Via); err != nil {
			return err
		}
	}
	return nil
}

// bridgeVia checks a way of whole frames.
func (k *checker) bridgeVia(path string, n Network, v Via) *Error {
	switch {
	case v.Port != "" || v.Network != "" || v.ECMP != "":
		return bad(path, `frames are bridged to one node: give its "tunnel" and an "encapsulation"`)
	case v.Encapsulation == NoEncapsulation:
		return bad(path+".encapsulation", "a frame cannot cross the fabric as it is; wrap it in %q, %q or %q", MPLSoUDP, MPLSoGRE, VXLAN)
	case v.MAC != MAC{}:
		return bad(path+".mac", "a bridged frame keeps the address that it is for; leave it out")
	}
	return k.viaTunnel(path, n, v)
}
