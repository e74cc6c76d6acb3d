package testbed

import (
	"fmt"
	"net"
	"net/netip"

	"windtunnel/result"
)

// Port is where an endpoint's frames enter and leave, if that is more than an interface with an
// address and a stack behind it: a port at a data plane of poll mode, which a daemon of its node, the
// tester, holds, or a program of the endpoint's own; or an interface where the other end is not reached
// by IP.
type Port struct {
	Name    string `json:"name"`
	Place   string `json:"place"`            // the container whose endpoint it is, by whose name the tester knows it
	Tester  string `json:"tester,omitempty"` // the daemon's name; its Socket is where it is asked
	Socket  string `json:"socket,omitempty"` // the data plane's, at which the endpoint's own program is, where there is no tester; {dir:NAME} is a daemon's folder
	Device  string `json:"device,omitempty"` // the interface, where there is no tester
	CPUs    []int  `json:"cpus,omitempty"`   // of its node, that the endpoint sends by; empty: all of them
	MAC     string `json:"mac"`
	NextHop string `json:"next_hop"` // the MAC that frames are addressed to
	Address string `json:"address"`  // a prefix, as an interface has it
	MTU     int    `json:"mtu"`
	// Tunnel is what its frames wear, if it is no port of an endpoint's own but the far end of the
	// data plane's fabric.
	Tunnel *result.Tunnel `json:"tunnel,omitempty"`
}

func (p Port) object(g Graph) object {
	detail, wears := fmt.Sprintf("%s at %s, %s, MTU %d", p.Place, p.Tester+p.Device+p.Socket, p.Address, p.MTU), ""
	if t := p.Tunnel; t != nil {
		wears = fmt.Sprint(*t)
		detail += fmt.Sprintf(", in %s from %s to %s, number %d, and back by %d", t.Encapsulation, t.From, t.To, t.Sends, t.Receives)
	}
	return object{
		kind: KindPort, name: p.Name,
		detail: detail,
		fixed:  fmt.Sprint(p.Place, p.Tester, p.Device, p.Socket, p.CPUs, p.MAC, p.NextHop, p.Address, p.MTU, wears),
		needs:  p.needs(g),
	}
}

// needs are the keys of what the port stands on.
func (p Port) needs(g Graph) []string {
	keys := []string{g.placeKey(p.Place)}
	if p.Tester != "" {
		return append(keys, object{kind: KindDaemon, name: p.Tester}.key())
	}
	for _, l := range g.Links {
		for _, end := range l.Ends {
			if end.Place == p.Place && end.Device == p.Device {
				keys = append(keys, linkKey(l))
			}
		}
	}
	return keys
}

func (c *checker) pollPort(p Port) {
	owner := "port " + p.Name
	c.once(KindPort, p.Name)
	node := c.graph.NodeOf(p.Place)
	if node == "" {
		c.fault("%s: there is no place %q", owner, p.Place)
	}
	if d, ok := c.graph.daemon(p.Tester); p.Device != "" {
		if c.devices[p.Place+"/"+p.Device] == "" || p.Tester != "" {
			c.fault("%s: %q is no interface of %s, or it has a tester besides", owner, p.Device, p.Place)
		}
	} else if p.Socket != "" {
		if p.Tester != "" {
			c.fault("%s: it has a tester, and is at the socket %q itself", owner, p.Socket)
		}
	} else if !ok || d.Node != node || d.Socket == "" {
		c.fault("%s: %q is no daemon with a socket on the node of %s", owner, p.Tester, p.Place)
	}
	for _, mac := range []string{p.MAC, p.NextHop} {
		if address, err := net.ParseMAC(mac); err != nil || len(address) != 6 {
			c.fault("%s: %q is not an Ethernet address", owner, mac)
		}
	}
	if _, err := netip.ParsePrefix(p.Address); err != nil {
		c.fault("%s: %q is not an address with its prefix length, like 10.0.0.1/24", owner, p.Address)
	}
	c.mtu(owner, p.MTU)
}

func (g Graph) daemon(name string) (Daemon, bool) {
	for _, d := range g.Daemons {
		if d.Name == name {
			return d, true
		}
	}
	return Daemon{}, false
}
