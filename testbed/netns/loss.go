package netns

import (
	"errors"
	"fmt"
	"math"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"windtunnel/testbed"
)

// lossRule is a program at a device's ingress that drops a share of what arrives, and counts.
type lossRule struct {
	counts   *ebpf.Map // packets: passed, dropped
	attached link.Link
}

// The map's keys.
const (
	passedKey  = 0
	droppedKey = 1
)

// setLoss attaches the rule of a device, or takes it off.
//
// It stands where a firewall's rule would, behind GRO: what is dropped at once may be many packets of the wire, and
// is counted as so many. Each is as likely to be dropped as any, so the share is that of packets.
func (c *cell) setLoss(p testbed.Interface) error {
	key := p.Place + "/" + p.Device
	if err := c.dropRule(key); err != nil || p.Loss == 0 {
		return err
	}
	return c.stacks[p.Place].Do(func() error {
		device, err := net.InterfaceByName(p.Device)
		if err != nil {
			return fmt.Errorf("finding %s: %w", p.Device, err)
		}
		counts, err := ebpf.NewMap(&ebpf.MapSpec{Name: "loss", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
		if err != nil {
			return fmt.Errorf("making the counters of the rule that drops: %w", err)
		}
		rule, err := attachLoss(device.Index, p.Loss, counts)
		if err != nil {
			return errors.Join(err, counts.Close())
		}
		c.rules[key] = rule
		return nil
	})
}

func attachLoss(device int, share float64, counts *ebpf.Map) (*lossRule, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "loss", Type: ebpf.SchedCLS, License: "GPL", Instructions: dropper(share, counts.FD())})
	if err != nil {
		return nil, fmt.Errorf("loading the rule that drops: %w", err)
	}
	defer program.Close() // the link keeps it
	attached, err := link.AttachTCX(link.TCXOptions{Interface: device, Program: program, Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return nil, fmt.Errorf("attaching the rule that drops (tcx, Linux 6.6 and later): %w", err)
	}
	return &lossRule{counts, attached}, nil
}

// dropRule takes a device's rule off, if it has one; the device may be gone.
func (c *cell) dropRule(key string) error {
	rule := c.rules[key]
	if rule == nil {
		return nil
	}
	delete(c.rules, key)
	if err := errors.Join(rule.attached.Close(), rule.counts.Close()); err != nil {
		return fmt.Errorf("taking the rule off %s that drops: %w", key, err)
	}
	return nil
}

// skbSegments is where struct __sk_buff (include/uapi/linux/bpf.h) says of how many packets one is made; 0: it is
// one.
const skbSegments = 164

// tcxDrop is TCX_DROP.
const tcxDrop = 2

// dropper is the program: a random number of 32 bits below the share of their range is a packet's end.
func dropper(share float64, counts int) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetPrandomU32.Call(),
		asm.Mov.Imm(asm.R7, passedKey),
		asm.LoadImm(asm.R1, int64(share*math.Pow(2, 32)), asm.DWord),
		asm.JGE.Reg(asm.R0, asm.R1, "count"),
		asm.Mov.Imm(asm.R7, droppedKey),
		asm.StoreMem(asm.RFP, -4, asm.R7, asm.Word).WithSymbol("count"),
		asm.LoadMapPtr(asm.R1, counts),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "decide"),
		asm.LoadMem(asm.R1, asm.R6, skbSegments, asm.Word),
		asm.JNE.Imm(asm.R1, 0, "add"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord).WithSymbol("add"),
		asm.JEq.Imm(asm.R7, droppedKey, "drop").WithSymbol("decide"),
		asm.Mov.Imm(asm.R0, tcxNext),
		asm.Return(),
		asm.Mov.Imm(asm.R0, tcxDrop).WithSymbol("drop"),
		asm.Return(),
	}
}

func (r *lossRule) read() (passed, dropped uint64, err error) {
	if err := errors.Join(r.counts.Lookup(uint32(passedKey), &passed), r.counts.Lookup(uint32(droppedKey), &dropped)); err != nil {
		return 0, 0, fmt.Errorf("reading what the rule dropped: %w", err)
	}
	return passed, dropped, nil
}
