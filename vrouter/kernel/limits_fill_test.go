package kernel

import (
	"fmt"
	"net/netip"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// The configurations of TestLimits: each has so many of one thing, and of all else as little as that takes.

// nodeOf is a node with a network.
func nodeOf() config.Config {
	return config.Config{
		Format: config.Format, Name: "limits", Fabric: config.Fabric{Interface: "fabric", Address: netip.MustParseAddr("192.0.2.1")},
		Networks: []config.Network{networkOf(0)},
	}
}

func networkOf(i int) config.Network {
	return config.Network{Name: fmt.Sprint("n", i), Subnet: netip.MustParsePrefix("10.0.0.0/8"), Gateway: netip.MustParseAddr("10.0.0.1")}
}

func farOf(i int) config.Via {
	return config.Via{Tunnel: netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}), Encapsulation: config.MPLSoUDP, Label: 17}
}

// routesOf leads so many hosts by ways of their own.
func routesOf(n int, via func(i int) config.Via) config.Config {
	c := nodeOf()
	for i := range n {
		c.Routes = append(c.Routes, config.Route{Network: "n0", Prefix: netip.PrefixFrom(hostOf(i), 32), Via: via(i)})
	}
	return c
}

func hostOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1 + byte(i>>16), byte(i >> 8), byte(i)})
}

func macOf(i int) config.MAC {
	return config.MAC{2, 0, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
}

func portsOf(n int) config.Config {
	c := nodeOf()
	for i := range n {
		name := fmt.Sprint("p", i)
		c.Ports = append(c.Ports, config.Port{Name: name, Interface: name, Network: "n0", Address: hostOf(i), MAC: macOf(i)})
	}
	return c
}

func fillNetworks(n int) config.Config {
	c := nodeOf()
	for i := 1; i < n; i++ {
		c.Networks = append(c.Networks, networkOf(i))
	}
	return c
}

func fillRoutes(n int) config.Config {
	c := routesOf(n, func(int) config.Via { return farOf(0) })
	c.Limits.Routes = 1000
	return c
}

// fillNexthops: the gateway has one.
func fillNexthops(n int) config.Config { return routesOf(n-1, farOf) }

func fillGroups(n int) config.Config {
	return routesOf(n, func(i int) config.Via { return config.Via{ECMP: config.MakeMembers(farOf(i))} })
}

func fillMembers(n int) config.Config {
	var far []config.Via
	for i := range n {
		far = append(far, farOf(i))
	}
	return routesOf(1, func(int) config.Via { return config.Via{ECMP: config.MakeMembers(far...)} })
}

func fillOwnLabel(n int) config.Config {
	c := nodeOf()
	c.Networks[0].Label = uint32(n)
	return c
}

func fillFarLabel(n int) config.Config {
	via := farOf(0)
	via.Label = uint32(n)
	return routesOf(1, func(int) config.Via { return via })
}

// fillVNIs puts all into one bucket.
func fillVNIs(n int) config.Config {
	c := nodeOf()
	c.Networks = nil
	for vni := uint32(1); len(c.Networks) < n; vni++ {
		if core.VNIBucket(vni) == core.VNIBucket(1) {
			network := networkOf(int(vni))
			network.VNI = vni
			c.Networks = append(c.Networks, network)
		}
	}
	return c
}

// linkOf is a node whose network is one link.
func linkOf() config.Config {
	c := nodeOf()
	c.Networks[0].VNI, c.Networks[0].Bridge = 5, &config.Bridge{}
	return c
}

// fillMACs: the gateway has one.
func fillMACs(n int) config.Config {
	c := linkOf()
	via := config.Via{Tunnel: farOf(1).Tunnel, Encapsulation: config.VXLAN}
	for i := range n - 1 {
		c.Networks[0].Bridge.Hosts = append(c.Networks[0].Bridge.Hosts, config.Host{MAC: macOf(i), Via: via})
	}
	return c
}

func fillTargets(n int) config.Config {
	c := linkOf()
	for i := range n {
		c.Networks[0].Bridge.Nodes = append(c.Networks[0].Bridge.Nodes, config.Via{Tunnel: farOf(i).Tunnel, Encapsulation: config.VXLAN})
	}
	return c
}

// fillPolicies: each has a port, for what no port names takes no room.
func fillPolicies(n int) config.Config {
	c := portsOf(n)
	for i := range n {
		name := fmt.Sprint("policy", i)
		c.Policies = append(c.Policies, config.Policy{Name: name, Default: config.Deny})
		c.Ports[i].Flow.Policy = name
	}
	return c
}

func fillRules(n int) config.Config {
	c := fillPolicies(1)
	for i := range n {
		rule := config.Rule{Direction: "in", Protocol: "tcp", Ports: config.Ports{First: uint16(1 + i), Last: uint16(1 + i)}, Action: config.Allow}
		c.Policies[0].Rules = append(c.Policies[0].Rules, rule)
	}
	return c
}

func fillPeers(n int) config.Config {
	c := nodeOf()
	c.Fabric.Address6 = netip.MustParseAddr("fd00:f::1")
	for i := range n {
		address := netip.AddrFrom16([16]byte{0xfd, 0, 1, byte(i >> 8), byte(i)})
		c.Fabric.Peers = append(c.Fabric.Peers, netip.PrefixFrom(address, 48))
	}
	return c
}
