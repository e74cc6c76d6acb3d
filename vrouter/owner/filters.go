package owner

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

// HaveTCX tells whether programs can be attached by tcx links (kernel 6.6), which end with the
// process that holds them. Older kernels do not know the hook, and call the question invalid; interface 1
// is the loopback, which every namespace has.
func HaveTCX() bool {
	_, err := link.QueryPrograms(link.QueryOptions{Target: 1, Attach: ebpf.AttachTCXIngress})
	return err == nil
}

// Filters are the programs that an interface's ingress filters hold; none, if it is gone.
func Filters(ifindex uint32) ([]*netlink.BpfFilter, error) {
	device, err := netlink.LinkByIndex(int(ifindex))
	if err != nil {
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil, nil
		}
		return nil, fmt.Errorf("finding interface %d: %w", ifindex, err)
	}
	filters, err := netlink.FilterList(device, netlink.HANDLE_MIN_INGRESS)
	if err != nil {
		return nil, fmt.Errorf("listing the filters of %s: %w", device.Attrs().Name, err)
	}
	var programs []*netlink.BpfFilter
	for _, f := range filters {
		if p, ok := f.(*netlink.BpfFilter); ok {
			programs = append(programs, p)
		}
	}
	return programs, nil
}
