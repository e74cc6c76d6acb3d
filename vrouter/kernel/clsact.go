package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/owner"
)

// Kernels before 6.6 have no tcx: there, a filter of the interface's clsact qdisc holds the program.
// A filter outlives the process that made it. After a kill -9 it is there until another vRouter starts in
// the namespace, or its interface goes.

// filterPlace is where our filter is among those of an interface.
const filterPlace = 1 // its priority and its handle

// attachClsact adds a filter, or replaces one that is ours or a dead vRouter's. Another's is left, and an
// error: the kernel says which of two that come at once was the first.
func (d *Dataplane) attachClsact(ifindex uint32, program *ebpf.Program, name string) error {
	if err := addClsact(ifindex); err != nil {
		return err
	}
	filters, err := owner.Filters(ifindex)
	if err != nil {
		return err
	}
	put := netlink.FilterAdd
	for _, f := range filters {
		if o, ok, err := owner.Identify(ebpf.ProgramID(f.Id), d.nodes); err == nil && ok && f.Handle == filterPlace && f.Priority == filterPlace && (o.Nodes == d.nodes || o.Dead()) {
			put = netlink.FilterReplace
		}
	}
	err = put(clsactFilter(ifindex, name, program.FD()))
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding a BPF filter: %w; another program has its place: `tc filter show dev %s ingress`", err, nameOf(ifindex))
	}
	if err != nil {
		return fmt.Errorf("adding a BPF filter: %w", err)
	}
	return nil
}

// addClsact gives an interface the qdisc that filters are at; one that has it, or the older one, keeps that.
func addClsact(ifindex uint32) error {
	qdisc := &netlink.GenericQdisc{
		QdiscType:  "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: int(ifindex), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT},
	}
	if err := netlink.QdiscAdd(qdisc); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding a clsact qdisc: %w", err)
	}
	return nil
}

func clsactFilter(ifindex uint32, name string, fd int) *netlink.BpfFilter {
	return &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: int(ifindex), Parent: netlink.HANDLE_MIN_INGRESS, Handle: filterPlace, Protocol: unix.ETH_P_ALL, Priority: filterPlace,
		},
		Fd: fd, Name: name, DirectAction: true,
	}
}

// detachClsact removes our filter, and leaves the qdisc, which others may use and which does nothing.
func (d *Dataplane) detachClsact(ifindex uint32) error {
	return d.removeFilters(ifindex, func(o owner.Occupant) bool { return o.Nodes == d.nodes })
}

func (d *Dataplane) removeFilters(ifindex uint32, which func(owner.Occupant) bool) error {
	filters, err := owner.Filters(ifindex)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range filters {
		o, ok, err := owner.Identify(ebpf.ProgramID(f.Id), d.nodes)
		if err != nil {
			failed = append(failed, err)
		}
		if !ok || !which(o) {
			continue
		}
		if err := netlink.FilterDel(f); err != nil && !errors.Is(err, unix.ENOENT) {
			failed = append(failed, fmt.Errorf("removing the filter of %s: %w", nameOf(ifindex), err))
		}
	}
	return errors.Join(failed...)
}

// sweepFilters removes filters from all interfaces of the namespace: those of ours that this process did
// not attach, which an earlier one left, and those of vRouters that are dead.
func (d *Dataplane) sweepFilters() error {
	qdiscs, err := netlink.QdiscList(nil)
	if err != nil {
		return fmt.Errorf("listing the qdiscs: %w", err)
	}
	var failed []error
	for _, q := range qdiscs {
		if ifindex := uint32(q.Attrs().LinkIndex); q.Type() == "clsact" {
			failed = append(failed, d.removeFilters(ifindex, func(o owner.Occupant) bool {
				return o.Nodes == d.nodes && d.filters[ifindex] == "" || o.Dead()
			}))
		}
	}
	return errors.Join(failed...)
}
