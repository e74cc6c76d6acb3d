package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/vrouter/core"
)

// kinds are the keys of a way that say where it leads. A way has one of them.
func (v Via) kinds() []string {
	var kinds []string
	for _, k := range []given{{"tunnel", v.Tunnel.IsValid()}, {"port", v.Port != ""}, {"network", v.Network != ""}, {"ecmp", v.ECMP != ""}} {
		if k.there {
			kinds = append(kinds, k.key)
		}
	}
	return kinds
}

// given tells whether a key is there.
type given struct {
	key   string
	there bool
}

// via checks a way from a network to a prefix.
func (k *checker) via(path string, n Network, to netip.Prefix, v Via) *Error {
	switch kinds := v.kinds(); {
	case len(kinds) == 0:
		return bad(path, `there is no way; give a "tunnel" (to another node), a "port" (of this node), a "network" (whose routes say where to) or an "ecmp" (a list of ways)`)
	case len(kinds) > 1:
		return bad(path+"."+kinds[1], "there is a %q already, and a way leads to one of both; take one out", kinds[0])
	case kinds[0] == "tunnel":
		return k.viaTunnel(path, n, v)
	}
	for _, k := range []given{{"encapsulation", v.Encapsulation != ""}, {"label", v.Label != 0}, {"vni", v.VNI != 0}, {"mac", v.MAC != MAC{}}} {
		if k.there {
			return bad(path+"."+k.key, `only a tunnel has one; leave it out, or give a "tunnel"`)
		}
	}
	switch {
	case v.Port != "":
		return k.viaPort(path, n, to, v.Port)
	case v.Network != "":
		return k.viaNetwork(path, n, to, v.Network)
	}
	return k.viaECMP(path+".ecmp", n, to, v.ECMP.Ways())
}

// viaPort: an address that a port of the network has besides its own.
func (k *checker) viaPort(path string, n Network, to netip.Prefix, name string) *Error {
	p, there := k.ports[name]
	switch {
	case !there:
		return bad(path+".port", "there is no port %q%s", name, nearest(name, sortedKeys(k.ports)))
	case p.Network != n.Name:
		return bad(path+".port", "%s is of %s, not of %s; a \"network\" leads there", name, p.Network, n.Name)
	case to.Addr().Is6() && !p.Address6.IsValid():
		return bad(path+".port", "%s has no IPv6; give it an address6", name)
	}
	return nil
}

// viaNetwork: the look-up goes on in another network. A container's packets go there with the source
// that they have, which must be nobody's there; or the network would take it for one of its own.
func (k *checker) viaNetwork(path string, n Network, to netip.Prefix, name string) *Error {
	other, there := k.networks[name]
	path += ".network"
	mine, theirs := n.Subnet, other.Subnet
	if to.Addr().Is6() {
		mine, theirs = n.Subnet6, other.Subnet6
	}
	switch {
	case !there:
		return bad(path, "there is no network %q%s", name, nearest(name, sortedKeys(k.networks)))
	case name == n.Name:
		return bad(path, "%s is the route's own network", name)
	case !theirs.IsValid():
		return bad(path, "the network %s has no IPv6; give it a subnet6 and a gateway6", name)
	case mine.Overlaps(theirs):
		return bad(path, "%s has %s and %s has %s: a packet from one would seem to be from a host of the other; such networks cannot be joined", n.Name, mine, name, theirs)
	case k.flat[name] && !k.flat[n.Name]:
		return bad(path, "%s is reached without encapsulation, and %s is not: its packets would go into the underlay in the open, and no answer would find back", name, n.Name)
	}
	return nil
}

func (k *checker) viaECMP(path string, n Network, to netip.Prefix, ways []Via) *Error {
	if len(ways) == 0 || len(ways) > core.GroupMembers {
		return bad(path, "%d ways are not between 1 and %d", len(ways), core.GroupMembers)
	}
	seen := make([]Via, len(ways))
	for i, way := range ways {
		at := fmt.Sprintf("%s[%d]", path, i)
		if way.Network != "" || way.ECMP != "" {
			return bad(at, `one of several ways is a "tunnel" or a "port"`)
		}
		if err := k.via(at, n, to, way); err != nil {
			return err
		}
		if way.Port == "" {
			way = way.filled(n)
		}
		seen[i] = way
		if j := slices.Index(seen, way); j < i {
			return bad(at, "this is the way of %s[%d], too", path[strings.LastIndexByte(path, '.')+1:], j)
		}
	}
	return nil
}

// label checks the label of a port or a network, and that it is there once.
func (k *checker) label(path string, label uint32, whose string) *Error {
	if label == 0 {
		return nil
	}
	if label < core.MinLabel || label >= core.MaxLabels {
		return bad(path+".label", "%d is not between %d and %d", label, core.MinLabel, core.MaxLabels-1)
	}
	if other, ok := k.labels[label]; ok {
		return bad(path+".label", "%d belongs to %s already", label, other)
	}
	k.labels[label] = whose
	return nil
}
