package netns

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
)

// heldPatience is how long an interface that is returned waits for what its other end keeps it from.
const heldPatience = 5 * time.Second

// errHeld is of settings that an interface cannot have back now: a virtual pair with an XDP program at one end lets the other
// neither segment nor have a larger MTU, and takes no word of these features while it lasts (veth_xdp_set in drivers/net/veth.c):
// another node's vRouter has such a program, which may outlive what is taken down here by what that node takes to notice.
type errHeld struct{ what string }

func (e errHeld) Error() string {
	return e.what + " cannot be put back yet: does its other end have an XDP program (`ip link`)?"
}

// unlessHeld passes over what is held.
func unlessHeld(err error) error {
	if errors.As(err, new(errHeld)) {
		return nil
	}
	return err
}

// unhold puts back what the interface was kept from.
func (n NIC) unhold() error {
	return errors.Join(withEthtool(n.refeature), withLinks(func(h *handle) error {
		link, err := h.LinkByName(n.Device)
		if err != nil {
			return err
		}
		return n.resize(h, link)
	}))
}

// resize puts the MTU back.
func (n NIC) resize(h *handle, link netlink.Link) error {
	if link.Attrs().MTU == n.MTU {
		return nil
	}
	if most := mostMTU(link.Attrs().Index); most > 0 && most < n.MTU {
		return errHeld{fmt.Sprintf("the MTU %d of %s", n.MTU, n.Device)}
	}
	return h.LinkSetMTU(link, n.MTU)
}

// refeature has the features wanted that were.
func (n NIC) refeature(tool *ethtool.Socket) error {
	differ, err := n.otherwise(tool)
	if err != nil || len(differ) == 0 {
		return err
	}
	if err := tool.Change(n.Device, differ); err != nil {
		return err
	}
	if differ, err = n.otherwise(tool); err != nil || len(differ) == 0 {
		return err
	}
	return errHeld{fmt.Sprintf("%s of %s", strings.Join(slices.Sorted(maps.Keys(differ)), ", "), n.Device)}
}

// otherwise are the features that are not wanted as they were, and how they were.
func (n NIC) otherwise(tool *ethtool.Socket) (map[string]bool, error) {
	now, err := tool.Wanted(n.Device)
	if err != nil {
		return nil, fmt.Errorf("reading the offloads of %s: %w", n.Device, err)
	}
	differ := map[string]bool{}
	for name, was := range n.Features {
		if is, there := now[name]; there && is != was {
			differ[name] = was
		}
	}
	return differ, nil
}
