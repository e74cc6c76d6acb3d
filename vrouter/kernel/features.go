package kernel

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
)

// HaveTCX tells whether programs can be attached by tcx links (kernel 6.6), which end with the
// process that holds them.
func HaveTCX() bool {
	_, err := link.QueryPrograms(link.QueryOptions{Target: 1, Attach: ebpf.AttachTCXIngress})
	return err == nil || !errors.Is(err, ebpf.ErrNotSupported)
}

// HaveRedirectPeer tells whether packets can be put into a container without passing the host's
// side of its veth (kernel 5.10).
func HaveRedirectPeer() bool {
	return features.HaveProgramHelper(ebpf.SchedCLS, asm.FnRedirectPeer) == nil
}

// Features lists what this vRouter found in the kernel and uses.
func (d *Dataplane) Features() []string {
	list := []string{"clsact"}
	if d.tcx {
		list[0] = "tcx"
	}
	if HaveRedirectPeer() {
		list = append(list, "redirect_peer")
	}
	if d.hands {
		list = append(list, "xdp_receive")
	}
	if d.fast.on() {
		list = append(list, "xdp_fast")
	}
	if d.socket != nil {
		list = append(list, "vxlan_socket")
	}
	if d.options.Pin {
		list = append(list, "pinned")
	}
	return list
}
