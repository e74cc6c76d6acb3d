package offload

import (
	"fmt"
	"net/netip"
	"strings"

	"windtunnel/vrouter/core"
)

// A Flow is packets of one pair of addresses, protocol and ports, from a port of this node.
type Flow struct {
	Port        string     `json:"port"` // the port's name
	Protocol    uint8      `json:"protocol"`
	Source      netip.Addr `json:"source"`
	Destination netip.Addr `json:"destination"`
	From        uint16     `json:"from"` // the TCP or UDP port, 0 of other protocols
	To          uint16     `json:"to"`
	// Known: there is a record of the flow, so that its packets may pass whatever the policy says now.
	Known bool `json:"known,omitempty"`
}

// protocols are those that a flow's text may name.
var protocols = map[string]uint8{"tcp": core.ProtocolTCP, "udp": core.ProtocolUDP, "icmp": core.ProtocolICMP}

// ParseFlow reads a flow such as "sender,tcp,10.0.1.3:40000,10.0.1.4:5201", or with icmp and plain addresses.
func ParseFlow(text string) (Flow, error) {
	bad := func(why string) (Flow, error) {
		return Flow{}, fmt.Errorf("%q is no flow such as sender,tcp,10.0.1.3:40000,10.0.1.4:5201 (with icmp: plain addresses): %s", text, why)
	}
	parts := strings.Split(text, ",")
	if len(parts) != 4 {
		return bad("it needs a port's name, a protocol, a source and a destination, with commas between")
	}
	f := Flow{Port: parts[0], Protocol: protocols[parts[1]]}
	if f.Protocol == 0 {
		return bad("the protocol is tcp, udp or icmp")
	}
	var err error
	if f.Source, f.From, err = parseEnd(f.Protocol, parts[2]); err != nil {
		return bad(err.Error())
	}
	if f.Destination, f.To, err = parseEnd(f.Protocol, parts[3]); err != nil {
		return bad(err.Error())
	}
	if f.Source.Is4() != f.Destination.Is4() {
		return bad("its ends are of different families")
	}
	return f, nil
}

func parseEnd(protocol uint8, text string) (netip.Addr, uint16, error) {
	if hasPorts(protocol) {
		a, err := netip.ParseAddrPort(text)
		return a.Addr(), a.Port(), err
	}
	a, err := netip.ParseAddr(text)
	return a, 0, err
}
