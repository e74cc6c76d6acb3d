package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/bench/wire"
	"windtunnel/traffic"
)

const (
	// liveBatch is how many frames the kernel makes ready at once, and liveRepeat how
	// many one call sends (bpf_test_run_xdp_live in net/bpf/test_run.c): each call
	// begins with new pages, so short calls would make the bare loop slower than it is.
	liveBatch  = 64
	liveRepeat = 1 << 22
	bareFrame  = 60 // bytes of a 64-byte frame without its FCS
	xdpDrop    = 1
)

// bareLoop is the least that an XDP live-frame generator can do: one program that
// redirects a constant frame, and one at the other end that counts and drops.
func bareLoop(given settings) wire.Program {
	return wire.Program{Name: "bare loop", Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		b, err := newBare()
		if err != nil {
			return wire.Sample{}, fmt.Errorf("setting the bare XDP loop up (it needs Linux 5.18 and root): %w", err)
		}
		defer b.close()
		ctx, cancel := context.WithCancel(ctx)
		var sending sync.WaitGroup
		var failed error
		sending.Go(func() { failed = in(wire.A, w.Nice, func() error { return b.loop(ctx) }) })
		sample, err := b.measure(ctx, w, given)
		cancel()
		sending.Wait()
		return sample, errors.Join(err, failed)
	}}
}

// bare is the two programs.
type bare struct {
	count      *ebpf.Map
	drop, send *ebpf.Program
	sink       link.Link
}

func (b *bare) measure(ctx context.Context, w *wire.Wire, given settings) (wire.Sample, error) {
	if err := wire.Wait(ctx, wire.WarmUp); err != nil {
		return wire.Sample{}, err
	}
	began := time.Now()
	before, err := b.counted()
	if err != nil {
		return wire.Sample{}, err
	}
	sample, err := w.Sample(ctx, given.window, os.Getpid())
	if err != nil {
		return sample, err
	}
	after, err := b.counted()
	sample.PerSecond = float64(after-before) / time.Since(began).Seconds()
	if err == nil && after == before {
		err = errors.New("no frame of the bare loop arrived")
	}
	return sample, err
}

// in runs something on a thread of its own in a node's namespace, on its CPU, with
// the priority that the other programs of a trial have.
func in(n wire.Node, nice int, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its binding and namespace
		there, err := netns.GetFromName(n.Namespace)
		if err != nil {
			done <- err
			return
		}
		defer there.Close()
		if err := errors.Join(traffic.PinThread(n.CPU), unix.Setpriority(unix.PRIO_PROCESS, 0, nice), netns.Set(there)); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

func newBare() (b *bare, err error) {
	b = &bare{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.count, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1}); err != nil {
		return b, err
	}
	if b.drop, err = dropProgram(b.count); err != nil {
		return b, err
	}
	if err := in(wire.B, 0, b.attach); err != nil {
		return b, fmt.Errorf("counting on %s: %w", wire.B.Device, err)
	}
	return b, in(wire.A, 0, func() (err error) {
		device, err := netlink.LinkByName(wire.A.Device)
		if err != nil {
			return err
		}
		b.send, err = redirectProgram(device.Attrs().Index)
		return err
	})
}

// attach puts the counter into the driver's own hook: only then does veth take
// frames from a redirect.
func (b *bare) attach() error {
	device, err := netlink.LinkByName(wire.B.Device)
	if err != nil {
		return err
	}
	b.sink, err = link.AttachXDP(link.XDPOptions{Program: b.drop, Interface: device.Attrs().Index, Flags: link.XDPDriverMode})
	return err
}

// dropProgram counts each frame in its CPU's slot and drops it.
func dropProgram(count *ebpf.Map) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, count.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "drop"),
			asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
			asm.Add.Imm(asm.R1, 1),
			asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, xdpDrop).WithSymbol("drop"),
			asm.Return(),
		},
	})
}

// redirectProgram sends every frame out of one interface.
func redirectProgram(index int) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(index)),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
		},
	})
}

// frame is Ethernet with a type for experiments (IEEE 802, 0x88B5).
func frame() []byte {
	b := make([]byte, bareFrame)
	copy(b, net.HardwareAddr{0x02, 0, 0, 0, 0, 1})
	copy(b[6:], net.HardwareAddr{0x02, 0, 0, 0, 0, 2})
	binary.BigEndian.PutUint16(b[12:], 0x88B5)
	return b
}

// loop repeats live-frame runs until the context ends.
func (b *bare) loop(ctx context.Context) error {
	options := ebpf.RunOptions{Data: frame(), Repeat: liveRepeat, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, BatchSize: liveBatch}
	for ctx.Err() == nil {
		if _, err := b.send.Run(&options); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("sending live frames: %w", err)
		}
	}
	return nil
}

// counted is the sum over CPUs.
func (b *bare) counted() (sum uint64, err error) {
	var each []uint64
	if err := b.count.Lookup(uint32(0), &each); err != nil {
		return 0, fmt.Errorf("reading the bare loop's counter: %w", err)
	}
	for _, n := range each {
		sum += n
	}
	return sum, nil
}

func (b *bare) close() {
	if b.sink != nil {
		b.sink.Close()
	}
	b.send.Close()
	b.drop.Close()
	b.count.Close()
}
