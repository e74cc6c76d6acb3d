package main

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// counter counts what comes to a container, and drops it: at tc, because what is redirected to a peer
// does not pass its XDP hook.
type counter struct {
	slots   *ebpf.Map // one a CPU
	program *ebpf.Program
	hook    link.Link
}

const shot = 2 // TC_ACT_SHOT

// newCounter attaches one to an interface of the calling thread's namespace.
func newCounter(ifindex int) (c *counter, err error) {
	c = &counter{}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.slots, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1}); err != nil {
		return c, fmt.Errorf("making a counter: %w", err)
	}
	if c.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, c.slots.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "drop"),
			asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
			asm.Add.Imm(asm.R1, 1),
			asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, shot).WithSymbol("drop"),
			asm.Return(),
		},
	}); err != nil {
		return c, fmt.Errorf("loading a counter: %w", err)
	}
	if c.hook, err = link.AttachTCX(link.TCXOptions{Program: c.program, Attach: ebpf.AttachTCXIngress, Interface: ifindex}); err != nil {
		return c, fmt.Errorf("attaching a counter (it needs Linux 6.6): %w", err)
	}
	return c, nil
}

// count is the sum over CPUs.
func (c *counter) count() (sum uint64, err error) {
	var each []uint64
	if err := c.slots.Lookup(uint32(0), &each); err != nil {
		return 0, fmt.Errorf("reading a counter: %w", err)
	}
	for _, n := range each {
		sum += n
	}
	return sum, nil
}

func (c *counter) close() {
	if c.hook != nil {
		c.hook.Close()
	}
	c.program.Close()
	c.slots.Close()
}
