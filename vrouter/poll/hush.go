package poll

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// hush keeps from the host's stack what the fabric brings without a tunnel for ports of this node. The
// stack has the packet as well, and would forward it a second time, or say that it knows no such host
// (RFC 1812, sections 5.2.4.3 and 5.2.7.1). A program at tc drops packets to those addresses: the
// process, whose socket is before it, has them by then.
type hush struct {
	addresses *ebpf.Map
	link      link.Link
}

// Where struct __sk_buff of linux/bpf.h has these, and what the program answers (linux/pkt_cls.h).
const (
	skbProtocol = 16
	tcxNext     = -1
)

// Hush makes the addresses those that the host's stack has no part in, at the fabric.
func (p *Plane) Hush(fabric config.Attachment, addresses []netip.Addr) error {
	if fabric.Ifindex == 0 { // no interface of the host's
		return nil
	}
	if err := p.hush.set(int(fabric.Ifindex), addresses); err != nil {
		return fmt.Errorf("keeping packets without a tunnel from the host's own stack: %w", err)
	}
	return nil
}

func (h *hush) set(ifindex int, addresses []netip.Addr) error {
	if h.link == nil && len(addresses) == 0 {
		return nil
	}
	if h.link == nil {
		if err := h.begin(ifindex); err != nil {
			return errors.Join(err, h.close())
		}
	}
	wanted := make(map[[16]byte]bool, len(addresses))
	for _, a := range addresses {
		wanted[a.As16()] = true
		if err := h.addresses.Put(a.As16(), uint8(1)); err != nil {
			return fmt.Errorf("adding %s: %w", a, err)
		}
	}
	var key [16]byte
	var value uint8
	var gone [][16]byte
	for each := h.addresses.Iterate(); each.Next(&key, &value); {
		if !wanted[key] {
			gone = append(gone, key)
		}
	}
	for _, key := range gone {
		if err := h.addresses.Delete(key); err != nil {
			return fmt.Errorf("taking %s away: %w", netip.AddrFrom16(key).Unmap(), err)
		}
	}
	return nil
}

func (h *hush) begin(ifindex int) (err error) {
	// Each port has two at most, and while one configuration takes another's place, there are both's.
	if h.addresses, err = ebpf.NewMap(&ebpf.MapSpec{Name: "vr_poll_hush", Type: ebpf.Hash, KeySize: 16, ValueSize: 1, MaxEntries: 4 * core.MaxVifs}); err != nil {
		return fmt.Errorf("making a map of addresses: %w", err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "vr_poll_hush", Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: hushed(h.addresses),
	})
	if err != nil {
		return fmt.Errorf("loading a program: %w; root is needed", err)
	}
	defer program.Close() // the link holds it
	h.link, err = link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: program, Attach: ebpf.AttachTCXIngress, Anchor: link.Head()})
	if err != nil {
		return fmt.Errorf("attaching a program: %w; poll mode needs Linux 6.6 for it", err)
	}
	return nil
}

func (h *hush) close() error {
	var failed []error
	if h.link != nil {
		failed = append(failed, h.link.Close())
	}
	if h.addresses != nil {
		failed = append(failed, h.addresses.Close())
	}
	h.link, h.addresses = nil, nil
	return errors.Join(failed...)
}

// hushed drops IP packets to the map's addresses, and leaves all others to whoever is next. A key is an
// IPv6 address, or an IPv4 one mapped into such (RFC 4291, section 2.5.5.2), on the stack below R10.
func hushed(addresses *ebpf.Map) asm.Instructions {
	load := func(from, at int32, bytes int32) asm.Instructions { // where the packet's destination is
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.R6), asm.Mov.Imm(asm.R2, from),
			asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, at), asm.Mov.Imm(asm.R4, bytes),
			asm.FnSkbLoadBytes.Call(),
		}
	}
	const key, ethernet = -16, 14
	program := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R7, 0), asm.StoreMem(asm.R10, key, asm.R7, asm.DWord),
		asm.Mov.Imm32(asm.R7, -1<<16), asm.StoreMem(asm.R10, key+8, asm.R7, asm.DWord), // bytes 10 and 11
		asm.LoadMem(asm.R7, asm.R6, skbProtocol, asm.Word),
		asm.JEq.Imm(asm.R7, int32(networkOrder(unix.ETH_P_IP)), "ipv4"),
		asm.JNE.Imm(asm.R7, int32(networkOrder(unix.ETH_P_IPV6)), "next"),
	}
	program = append(program, load(ethernet+24, key, 16)...)
	program = append(program, asm.Ja.Label("look"))
	four := load(ethernet+16, key+12, 4)
	four[0] = four[0].WithSymbol("ipv4")
	program = append(program, four...)
	return append(program,
		asm.JNE.Imm(asm.R0, 0, "next").WithSymbol("look"),
		asm.LoadMapPtr(asm.R1, addresses.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, key),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "next"),
		asm.Mov.Imm(asm.R0, tcShot),
		asm.Return(),
		asm.Mov.Imm(asm.R0, tcxNext).WithSymbol("next"),
		asm.Return(),
	)
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }
