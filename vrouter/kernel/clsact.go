package kernel

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/core"
)

// Kernels before 6.6 have no tcx: there, a filter of the interface's clsact qdisc holds the program.
// A filter outlives the process that made it; after a kill -9 it goes with its interface only.

func attachClsact(ifindex uint32, program *ebpf.Program, name string) error {
	qdisc := &netlink.GenericQdisc{
		QdiscType:  "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: int(ifindex), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
	}
	if err := netlink.QdiscAdd(qdisc); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding a clsact qdisc: %w", err)
	}
	if err := netlink.FilterReplace(clsactFilter(ifindex, name, program.FD())); err != nil {
		return fmt.Errorf("adding a BPF filter: %w", err)
	}
	return nil
}

func clsactFilter(ifindex uint32, name string, fd int) *netlink.BpfFilter {
	return &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: int(ifindex), Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1,
		},
		Fd: fd, Name: name, DirectAction: true,
	}
}

// detachClsact removes our filter, and leaves the qdisc, which others may use and which does nothing.
func detachClsact(ifindex uint32, name string) error {
	device, err := netlink.LinkByIndex(int(ifindex))
	if err != nil {
		return nil // its filters went with it
	}
	filters, err := netlink.FilterList(device, netlink.HANDLE_MIN_INGRESS)
	if err != nil {
		return fmt.Errorf("listing the filters of interface %d: %w", ifindex, err)
	}
	for _, f := range filters {
		ours, ok := f.(*netlink.BpfFilter)
		if !ok || ours.Name != name {
			continue
		}
		if err := netlink.FilterDel(ours); err != nil {
			return fmt.Errorf("removing the filter of interface %d: %w", ifindex, err)
		}
	}
	return nil
}

// pinnedFabric reads the fabric's interface out of a pinned vRouter, 0 if it has none.
func pinnedFabric(folder string) uint32 {
	nodes, err := ebpf.LoadPinnedMap(filepath.Join(folder, "vr_nodes"), nil)
	if err != nil {
		return 0
	}
	defer nodes.Close()
	var node core.Node
	if err := nodes.Lookup(uint32(0), &node); err != nil {
		return 0
	}
	return node.Ifindex
}
