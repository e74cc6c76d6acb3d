package kernel

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"windtunnel/vrouter/owner"
)

// HaveTCX tells whether programs can be attached by tcx links, which end with the process that holds them.
func HaveTCX() bool { return owner.HaveTCX() }

// HaveXDPFeatures tells whether the kernel says what drivers' XDP can do (kernel 6.3), without which
// nothing takes the fast path.
func HaveXDPFeatures() bool {
	_, err := netdev()
	return err == nil
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
