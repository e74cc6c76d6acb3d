package wire

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Counter counts what comes to an interface of the calling thread's namespace, and drops it.
type Counter struct {
	slots   *ebpf.Map // one a CPU
	program *ebpf.Program
	hook    link.Link
}

// The verdicts that drop: enum xdp_action in linux/bpf.h, TC_ACT_SHOT in linux/pkt_cls.h.
const (
	xdpDrop = 1
	tcShot  = 2
)

// CountAtXDP counts in the driver's own hook: only with one there does veth take frames of a redirect.
func CountAtXDP(ifindex int) (*Counter, error) {
	return newCounter(ebpf.XDP, xdpDrop, func(program *ebpf.Program) (link.Link, error) {
		return link.AttachXDP(link.XDPOptions{Program: program, Interface: ifindex, Flags: link.XDPDriverMode})
	})
}

// CountAtTC counts what is redirected to the interface as a veth's peer, too, which does not pass XDP.
// It needs Linux 6.6.
func CountAtTC(ifindex int) (*Counter, error) {
	return newCounter(ebpf.SchedCLS, tcShot, func(program *ebpf.Program) (link.Link, error) {
		return link.AttachTCX(link.TCXOptions{Program: program, Attach: ebpf.AttachTCXIngress, Interface: ifindex})
	})
}

func newCounter(kind ebpf.ProgramType, verdict int32, attach func(*ebpf.Program) (link.Link, error)) (*Counter, error) {
	slots, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return nil, fmt.Errorf("making a counter: %w", err)
	}
	c := &Counter{slots: slots}
	if c.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: kind, License: "GPL",
		Instructions: append(AddOne(slots, "drop"), asm.Mov.Imm(asm.R0, verdict).WithSymbol("drop"), asm.Return()),
	}); err != nil {
		c.Close()
		return nil, fmt.Errorf("loading a counter: %w", err)
	}
	if c.hook, err = attach(c.program); err != nil {
		c.hook = nil // not an interface that holds a nil pointer
		c.Close()
		return nil, fmt.Errorf("attaching a counter: %w", err)
	}
	return c, nil
}

// AddOne adds 1 to the first value of a map of 8-byte values, which is then in R1, or jumps to a label
// if there is none. It takes R0, R2 and the first word of the stack.
func AddOne(values *ebpf.Map, missing string) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, values.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, missing),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
	}
}

// Count is the sum over CPUs.
func (c *Counter) Count() (sum uint64, err error) {
	var each []uint64
	if err := c.slots.Lookup(uint32(0), &each); err != nil {
		return 0, fmt.Errorf("reading a counter: %w", err)
	}
	for _, n := range each {
		sum += n
	}
	return sum, nil
}

// Close takes it off the interface.
func (c *Counter) Close() {
	if c.hook != nil {
		c.hook.Close()
	}
	c.program.Close()
	c.slots.Close()
}
