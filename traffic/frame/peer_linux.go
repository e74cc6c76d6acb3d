package frame

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// peerOf finds the other end of a veth in this namespace.
func peerOf(d device) (*netlink.LinkAttrs, error) {
	own, err := netlink.LinkByIndex(d.index)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", d.name, err)
	}
	if own.Type() != "veth" {
		return nil, fmt.Errorf("%s is no veth", d.name)
	}
	if own.Attrs().NetNsID >= 0 {
		return nil, fmt.Errorf("the other end of %s (interface %d) is in another namespace: for live frames switch GRO on there while it is up, off first if it is on already (`ethtool -K PEER gro off; ethtool -K PEER gro on`)", d.name, own.Attrs().ParentIndex)
	}
	peer, err := netlink.LinkByIndex(own.Attrs().ParentIndex)
	if err != nil {
		return nil, fmt.Errorf("finding the other end of %s: %w", d.name, err)
	}
	return peer.Attrs(), nil
}

// openPeer lets a veth's peer take live frames, by a program at its XDP that passes everything on, and returns what takes that
// away. A veth drops each of them unless its peer has a NAPI, and says it has: XDP attached natively, or GRO switched on while
// both were up (veth_xdp_xmit, veth_set_features and veth_open in drivers/net/veth.c). A process that is killed by force leaves
// nothing, as it would leave GRO on: the program's link ends with it. As long as it is there the veth itself has no segmentation
// offload (veth_xdp_set takes it from the peer of a device with XDP).
func openPeer(d device) (restore func() error, err error) {
	peer, err := peerOf(d)
	if err != nil {
		return nil, err
	}
	pass, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "frame_pass", Type: ebpf.XDP, License: "Dual BSD/GPL",
		Flags:        unix.BPF_F_XDP_HAS_FRAGS, // or the driver takes no MTU beyond a page
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	if err != nil {
		return nil, fmt.Errorf("loading the BPF program that passes frames on: %w", err)
	}
	at, err := link.AttachXDP(link.XDPOptions{Program: pass, Interface: peer.Index, Flags: link.XDPDriverMode})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attaching to XDP at the other end of %s, %s: %w", d.name, peer.Name, err), pass.Close())
	}
	return func() error { return errors.Join(at.Close(), pass.Close()) }, nil
}

// xdpPass is XDP_PASS (linux/bpf.h).
const xdpPass = 2
