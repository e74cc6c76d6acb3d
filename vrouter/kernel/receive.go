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
	Way config.Receive // "tc" or "xdp"
	Why string
}

// SetReceive brings an interface to the way that is asked for; its programs at tc must be attached.
// Again is no error.
func (d *Dataplane) SetReceive(ifindex uint32, want config.Receive) (Receive, error) {
	got := Receive{Way: config.ReceiveTC, Why: "as configured"}
	if want == config.ReceiveAuto || want == "" {
		want, got.Why = worthwhile(ifindex)
	}
	if want == config.ReceiveTC {
		return got, d.detachXDP(ifindex)
	}
	err := d.attachXDP(ifindex)
	switch {
	case err == nil:
		got.Way = config.ReceiveXDP
	case got.Why == "as configured":
		return got, fmt.Errorf("receiving by XDP: %w", err)
	default:
		got.Why = err.Error()
	}
	return got, nil
}

// worthwhile: XDP is for GRO's sake. On a veth, an XDP program takes segmentation away from the other
// end (veth_fix_features in drivers/net/veth.c), so a wire that passes aggregates whole would lose
// them; such a wire has segmentation on at this end, too.
func worthwhile(ifindex uint32) (config.Receive, string) {
	device, err := net.InterfaceByIndex(int(ifindex))
	if err != nil {
		return config.ReceiveTC, err.Error()
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return config.ReceiveTC, err.Error()
	}
	defer tool.Close()
	features, err := tool.Features(device.Name)
	if err != nil {
		return config.ReceiveTC, err.Error()
	}
	driver, err := tool.DriverName(device.Name)
	switch {
	case err != nil:
		return config.ReceiveTC, err.Error()
	case !features["rx-gro"]:
		return config.ReceiveTC, "GRO is off, so nothing would aggregate"
	case driver == "veth" && features["tx-tcp-segmentation"]:
		return config.ReceiveTC, "a veth that passes aggregates whole; XDP would have them cut"
	}
	return config.ReceiveXDP, "GRO is on"
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
