package poll

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"windtunnel/vrouter/config"
)

// xdpFree refuses an interface that has an XDP program already: there can be one only, and that of
// DPDK's sockets is to be it.
func xdpFree(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("looking for the interface %s: %w", name, err)
	}
	if xdp := link.Attrs().Xdp; xdp != nil && xdp.Attached {
		return fmt.Errorf("the interface %s has an XDP program already (number %d); end what uses it, or `ip link set dev %s xdp off`", name, xdp.ProgId, name)
	}
	return nil
}

// leaveXDP takes away what a process has left at its ports that was killed: libxdp attaches its program
// by netlink, which outlives it. The process must have ended.
func (p *Plane) leaveXDP() (err error) {
	for _, at := range p.attached {
		err = errors.Join(err, offXDP(at))
	}
	return err
}

func offXDP(at config.Attachment) error {
	if at.Driver != config.DriverXDP {
		return nil
	}
	link, err := netlink.LinkByName(at.Interface)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil && link.Attrs().Xdp != nil && link.Attrs().Xdp.Attached {
		err = netlink.LinkSetXdpFd(link, -1)
	}
	if err != nil {
		return fmt.Errorf("taking the XDP program off %s: %w", at.Interface, err)
	}
	return nil
}
