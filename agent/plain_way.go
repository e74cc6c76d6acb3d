package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"windtunnel/agent/proto"
	"windtunnel/measure/system"
	"windtunnel/testbed"
)

// PlainWay is by which interface the data of a node goes that is no Linux. The zero address is none.
type PlainWay struct {
	Address netip.Addr // the machine's own, in the network for data
	Toward  netip.Addr // the other node's
	Near    netip.Addr // the machine's own end of the control connection
}

// find finds the interface among the machine's addresses. It refuses the one that carries the control connection, whose
// traffic would be measured as well.
func (w PlainWay) find(addresses []proto.Address, machine system.Machine) (proto.NIC, error) {
	address := w.Address
	if !address.IsValid() && w.Toward.IsValid() {
		var err error
		if address, err = localAddress(w.Toward); err != nil {
			return proto.NIC{}, err
		}
	}
	if !address.IsValid() {
		return proto.NIC{}, errors.New("no data address was given: say which interface carries the data, with ?data=ADDRESS behind the host")
	}
	found, ok := addressed(addresses, address)
	if !ok {
		var own []string
		for _, a := range addresses {
			own = append(own, a.Prefix)
		}
		return proto.NIC{}, fmt.Errorf("this host has no address %s: give data= one of its own (%s)", address, strings.Join(own, ", "))
	}
	if control, known := addressed(addresses, w.Near); known && control.Device == found.Device {
		return proto.NIC{}, fmt.Errorf("the interface %s (%s) carries the control connection: give data= an address of another interface, or measure by the way that there is, with the path existing (`windtunnel between`)",
			found.Device, found.Prefix)
	}
	link, err := system.ByDevice(found.Device)
	if err != nil {
		return proto.NIC{}, err
	}
	nic := proto.NIC{NIC: testbed.NIC{Device: found.Device, Address: found.Prefix, MTU: found.MTU}}
	if counters, err := machine.Link(link.Index); err == nil {
		nic.BitsPerSecond = counters.BitsPerSecond
	}
	return nic, nil
}

// addressed is the interface's entry that has an address.
func addressed(addresses []proto.Address, want netip.Addr) (proto.Address, bool) {
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.Prefix); err == nil && want.IsValid() && prefix.Addr() == want {
			return a, true
		}
	}
	return proto.Address{}, false
}
