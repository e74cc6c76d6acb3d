package kernel

import (
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"

	"windtunnel/ethtool"
	"windtunnel/vrouter/config"
)

// Receive is how the fabric's tunnel packets are taken in, and why so.
type Receive struct {
	Way config.Receive // all but ReceiveAuto
	Why string
}

// Tunnels are the kinds of tunnel packets that a configuration lets in.
type Tunnels struct{ MPLS, VXLAN bool }

const asConfigured = "as configured"

// SetReceive brings an interface to the way that is asked for; its programs at tc must be attached.
// Again is no error.
func (d *Dataplane) SetReceive(ifindex uint32, want config.Receive, tunnels Tunnels) (Receive, error) {
	if want != config.ReceiveAuto && want != "" {
		err := d.setReceive(ifindex, want)
		if err != nil {
			err = fmt.Errorf("receiving by %q: %w", want, err)
		}
		return Receive{want, asConfigured}, err
	}
	ways, why := worthwhile(ifindex, tunnels)
	for _, way := range ways {
		err := d.setReceive(ifindex, way)
		if err == nil {
			return Receive{way, why}, nil
		}
		why = err.Error()
	}
	return Receive{config.ReceiveTC, why}, d.setReceive(ifindex, config.ReceiveTC)
}

func (d *Dataplane) setReceive(ifindex uint32, way config.Receive) error {
	d.hands = way == config.ReceiveXDP
	err := xdpRefused(ifindex, d.setFabricXDP(ifindex))
	return errors.Join(err, d.setSocket(way == config.ReceiveSocket))
}

// setFabricXDP puts the program there that what is wanted of the fabric's XDP needs, or none.
func (d *Dataplane) setFabricXDP(ifindex uint32) error {
	switch {
	case d.fast.fabric:
		return errors.Join(d.fast.setFlags(d.hands), d.xdp.attach(ifindex, d.fast.objects.VrFastFabric))
	case d.hands:
		program, err := d.fabricXDP()
		if err != nil {
			return err
		}
		return d.xdp.attach(ifindex, program)
	}
	d.xdp.adopt(ifindex) // an earlier process may have left it
	return d.xdp.detach(ifindex)
}

// fabricXDP is the program that takes tunnels' headers off before GRO. It is loaded when it is first needed, and kept:
// the verifier's work on it is a sixth of a start's, and most vRouters do without.
func (d *Dataplane) fabricXDP() (*ebpf.Program, error) {
	if d.objects.VrFabricXdp != nil {
		return d.objects.VrFabricXdp, nil
	}
	spec, err := loadVr()
	if err != nil {
		return nil, fmt.Errorf("reading the BPF programs: %w", err)
	}
	var xdp struct {
		Program *ebpf.Program `ebpf:"vr_fabric_xdp"`
	}
	if err := spec.LoadAndAssign(&xdp, &ebpf.CollectionOptions{MapReplacements: d.over(spec)}); err != nil {
		return nil, fmt.Errorf("loading the program that receives by XDP: %w", err)
	}
	d.objects.VrFabricXdp = xdp.Program
	return xdp.Program, nil
}

// setSocket opens or closes the VXLAN socket. Where a VXLAN device of the host has the port, its own
// socket serves, and stays.
func (d *Dataplane) setSocket(want bool) (err error) {
	switch {
	case want && d.socket == nil:
		d.socket, err = openVXLANSocket()
	case !want && d.socket != nil:
		err = d.socket.close()
		d.socket = nil
	}
	return err
}

// worthwhile lists the ways that are better than tc alone, the best first, and why they are. All of
// them are for GRO's sake.
//
// On a veth, an XDP program takes segmentation away from the other end (veth_fix_features in
// drivers/net/veth.c), so a wire that passes aggregates whole would lose them; such a wire has
// segmentation on at this end, too. And it has every packet copied (veth_convert_skb_to_xdp_buff), so
// that the socket, where it is enough, costs less.
func worthwhile(ifindex uint32, tunnels Tunnels) (ways []config.Receive, why string) {
	driver, features, err := driverOf(ifindex)
	veth := driver == "veth"
	switch {
	case err != nil:
		return nil, err.Error()
	case !features["rx-gro"]:
		return nil, "GRO is off, so nothing would aggregate"
	case veth && features["tx-tcp-segmentation"]:
		return nil, "a veth that passes aggregates whole; XDP would have them cut"
	case tunnels.VXLAN && !tunnels.MPLS && veth:
		return []config.Receive{config.ReceiveSocket}, "GRO is on, and only VXLAN comes in"
	case tunnels.VXLAN:
		return []config.Receive{config.ReceiveXDP, config.ReceiveSocket}, "GRO is on"
	case tunnels.MPLS:
		return []config.Receive{config.ReceiveXDP}, "GRO is on"
	}
	return nil, "no tunnel packets come in"
}

// JoinsTunnels says which feature of an interface joins tunnel packets by their outer headers before tc
// sees them; such are lost.
func JoinsTunnels(ifindex uint32) (feature string, err error) {
	_, features, err := driverOf(ifindex)
	if err != nil || !features["rx-gro"] {
		return "", err
	}
	for _, feature := range []string{"rx-udp-gro-forwarding", "rx-gro-list"} {
		if features[feature] {
			return feature, nil
		}
	}
	return "", nil
}

func driverOf(ifindex uint32) (driver string, features map[string]bool, err error) {
	device, err := net.InterfaceByIndex(int(ifindex))
	if err != nil {
		return "", nil, fmt.Errorf("finding interface %d: %w", ifindex, err)
	}
	tool, err := ethtool.Open()
	if err != nil {
		return "", nil, fmt.Errorf("opening an ethtool socket: %w", err)
	}
	defer tool.Close()
	if features, err = tool.Features(device.Name); err != nil {
		return "", nil, fmt.Errorf("reading the features of %s: %w", device.Name, err)
	}
	if driver, err = tool.Driver(device.Name); err != nil {
		return "", nil, fmt.Errorf("reading the driver of %s: %w", device.Name, err)
	}
	return driver, features, nil
}
