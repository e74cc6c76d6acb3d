package frame

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// clsact holds a program at tc on kernels before 6.6. A filter outlives the
// process: after a kill by force it stays until its interface goes; being bound to
// a session, it then drops nothing.
type clsact struct{ filter *netlink.BpfFilter }

const filterName = "windtunnel-frame"

func attachClsact(d device, program *ebpf.Program) (hook, error) {
	qdisc := &netlink.GenericQdisc{
		QdiscType:  "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: d.index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
	}
	if err := netlink.QdiscAdd(qdisc); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("adding a clsact qdisc: %w", err)
	}
	filter := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: d.index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: program.FD(), Name: filterName, DirectAction: true,
	}
	if err := netlink.FilterAdd(filter); err != nil {
		return nil, fmt.Errorf("adding a BPF filter: %w", err)
	}
	return clsact{filter}, nil
}

// Close leaves the qdisc, which others may use and which does nothing.
func (c clsact) Close() error {
	err := netlink.FilterDel(c.filter)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil // the interface has gone, and the filter with it
	}
	return err
}
