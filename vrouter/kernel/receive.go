package kernel

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"

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
	if way == config.ReceiveXDP {
		return errors.Join(d.attachXDP(ifindex), d.setSocket(false))
	}
	return errors.Join(d.setSocket(way == config.ReceiveSocket), d.detachXDP(ifindex))
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

func driverOf(ifindex uint32) (driver string, features map[string]bool, err error) {
	device, err := net.InterfaceByIndex(int(ifindex))
	if err != nil {
		return "", nil, fmt.Errorf("finding interface %d: %w", ifindex, err)
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return "", nil, fmt.Errorf("opening an ethtool socket: %w", err)
	}
	defer tool.Close()
	if features, err = tool.Features(device.Name); err != nil {
		return "", nil, fmt.Errorf("reading the features of %s: %w", device.Name, err)
	}
	if driver, err = tool.DriverName(device.Name); err != nil {
		return "", nil, fmt.Errorf("reading the driver of %s: %w", device.Name, err)
	}
	return driver, features, nil
}

func (d *Dataplane) xdpPath(ifindex uint32) string {
	return filepath.Join(d.folder(), "xdp-"+strconv.FormatUint(uint64(ifindex), 10))
}

// attachXDP puts the program before the driver's GRO: in the driver, never behind it.
func (d *Dataplane) attachXDP(ifindex uint32) error {
	if d.xdp[ifindex] != nil {
		return nil
	}
	program := d.objects.VrFabricXdp
	if d.options.Pin {
		if l := adoptXDP(d.xdpPath(ifindex), ifindex); l != nil {
			d.xdp[ifindex] = l
			return l.Update(program)
		}
	}
	l, err := link.AttachXDP(link.XDPOptions{Interface: int(ifindex), Program: program, Flags: link.XDPDriverMode})
	if err != nil {
		return err
	}
	if d.options.Pin {
		if err := l.Pin(d.xdpPath(ifindex)); err != nil {
			l.Close()
			return fmt.Errorf("keeping it: %w", err)
		}
	}
	d.xdp[ifindex] = l
	return nil
}

// adoptXDP opens a pinned link, or removes what is left of one whose interface is gone.
func adoptXDP(path string, ifindex uint32) link.Link {
	l, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		os.Remove(path)
		return nil
	}
	if info, err := l.Info(); err == nil && info.XDP() != nil && info.XDP().Ifindex == ifindex {
		return l
	}
	l.Unpin()
	l.Close()
	return nil
}

// detachXDP takes the program off, also one that an earlier process left.
func (d *Dataplane) detachXDP(ifindex uint32) error {
	l := d.xdp[ifindex]
	if l == nil && d.options.Pin {
		l = adoptXDP(d.xdpPath(ifindex), ifindex)
	}
	if l == nil {
		return nil
	}
	delete(d.xdp, ifindex)
	if d.options.Pin {
		if err := l.Unpin(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the XDP link of interface %d: %w", ifindex, err)
		}
	}
	return l.Close()
}
