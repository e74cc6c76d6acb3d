//go:build linux

package look

import (
	"fmt"

	"github.com/cilium/ebpf"
	ebpflink "github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

// programs are the BPF programs that a link's packets meet: of XDP, of tc's filters and of tcx (Linux 6.6), as far as
// this process may see them.
func programs(link netlink.Link) []string {
	var all []string
	if xdp := link.Attrs().Xdp; xdp != nil && xdp.Attached {
		all = append(all, "xdp "+programName(ebpf.ProgramID(xdp.ProgId)))
	}
	for _, hook := range []struct {
		way    string
		parent uint32
		attach ebpf.AttachType
	}{
		{"ingress", netlink.HANDLE_MIN_INGRESS, ebpf.AttachTCXIngress},
		{"egress", netlink.HANDLE_MIN_EGRESS, ebpf.AttachTCXEgress},
	} {
		if at, err := ebpflink.QueryPrograms(ebpflink.QueryOptions{Target: link.Attrs().Index, Attach: hook.attach}); err == nil {
			for _, p := range at.Programs {
				all = append(all, "tcx "+hook.way+" "+programName(p.ID))
			}
		}
		filters, err := netlink.FilterList(link, hook.parent)
		if err != nil {
			continue
		}
		for _, filter := range filters {
			if bpf, ok := filter.(*netlink.BpfFilter); ok {
				all = append(all, "tc "+hook.way+" "+bpf.Name)
			}
		}
	}
	return all
}

// programName is what its author called a program, else its number.
func programName(id ebpf.ProgramID) string {
	number := fmt.Sprintf("program %d", id)
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return number
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil || info.Name == "" {
		return number
	}
	return info.Name
}
