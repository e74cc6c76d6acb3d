package netns

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"windtunnel/testbed"
)

// queueBy attaches the program that chooses a device's queues, or takes it off.
//
// The kernel takes the queue that a packet came from, plus one, as its transmit queue wherever the socket has
// none yet and no XPS is set (skb_tx_hash in net/core/dev.c), and a program at egress may write it. Without that
// a bridge's packets would all leave by the queue in which they came. What other programs do is left to them.
func (c *cell) queueBy(p testbed.Interface) error {
	key := p.Place + "/" + p.Device
	if err := c.dropChooser(key); err != nil || p.QueueBy == testbed.QueueByKernel {
		return err
	}
	return c.stacks[p.Place].Do(func() error {
		device, err := net.InterfaceByName(p.Device)
		if err != nil {
			return fmt.Errorf("finding %s: %w", p.Device, err)
		}
		instructions, err := chooser(p)
		if err != nil {
			return err
		}
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "queue_by", Type: ebpf.SchedCLS, License: "GPL", Instructions: instructions})
		if err != nil {
			return fmt.Errorf("loading the program that chooses queues: %w", err)
		}
		defer program.Close() // the link keeps it
		attached, err := link.AttachTCX(link.TCXOptions{Interface: device.Index, Program: program, Attach: ebpf.AttachTCXEgress})
		if err != nil {
			return fmt.Errorf("attaching the program that chooses queues (tcx, Linux 6.6 and later): %w", err)
		}
		c.choosers[key] = attached
		return nil
	})
}

// dropChooser takes a device's program off, if it has one; the device may be gone.
func (c *cell) dropChooser(key string) error {
	attached := c.choosers[key]
	if attached == nil {
		return nil
	}
	delete(c.choosers, key)
	if err := attached.Close(); err != nil {
		return fmt.Errorf("taking the program off %s that chooses its queues: %w", key, err)
	}
	return nil
}

// Of struct __sk_buff (include/uapi/linux/bpf.h): where programs see what.
const (
	skbQueue   = 12
	skbData    = 76
	skbDataEnd = 80
	tcxNext    = -1 // the next program's turn
	macSize    = 6
)

// chooser is the program: the queue plus one goes to where the kernel notes the queue that a packet came by.
func chooser(p testbed.Interface) (asm.Instructions, error) {
	queues := int32(queues(p))
	if p.QueueBy == testbed.QueueByFlow {
		return asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.FnGetHashRecalc.Call(),
			asm.Mod.Imm32(asm.R0, queues),
			asm.Add.Imm(asm.R0, 1),
			asm.StoreMem(asm.R6, skbQueue, asm.R0, asm.Word),
			asm.Mov.Imm(asm.R0, tcxNext),
			asm.Return(),
		}, nil
	}
	program := asm.Instructions{
		asm.Mov.Imm(asm.R0, 1), // the first queue
		asm.LoadMem(asm.R2, asm.R1, skbData, asm.Word),
		asm.LoadMem(asm.R3, asm.R1, skbDataEnd, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, macSize),
		asm.JGT.Reg(asm.R4, asm.R3, "known"),
		asm.LoadMem(asm.R4, asm.R2, 0, asm.Word),
		asm.LoadMem(asm.R5, asm.R2, 4, asm.Half),
	}
	for i, mac := range p.Destinations {
		b, err := net.ParseMAC(mac)
		if err != nil {
			return nil, fmt.Errorf("reading a destination: %w", err)
		}
		next := fmt.Sprintf("other%d", i)
		program = append(program,
			asm.LoadImm(asm.R3, int64(binary.NativeEndian.Uint32(b)), asm.DWord),
			asm.JNE.Reg(asm.R4, asm.R3, next),
			asm.JNE.Imm(asm.R5, int32(binary.NativeEndian.Uint16(b[4:])), next),
			asm.Mov.Imm(asm.R0, 2+int32(i)%(queues-1)),
			asm.Ja.Label("known"),
			asm.Mov.Reg(asm.R0, asm.R0).WithSymbol(next),
		)
	}
	return append(program,
		asm.StoreMem(asm.R1, skbQueue, asm.R0, asm.Word).WithSymbol("known"),
		asm.Mov.Imm(asm.R0, tcxNext),
		asm.Return(),
	), nil
}
