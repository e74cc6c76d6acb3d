package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/bench/wire"
)

const (
	// liveBatch is how many frames the kernel makes ready at once, its most, with which
	// the bare loop is at least as fast as with its own 64, and liveRepeat how many one
	// call sends (bpf_test_run_xdp_live in net/bpf/test_run.c): each call begins with new
	// pages, so short calls would make the bare loop slower than it is.
	liveBatch  = 256
	liveRepeat = 1 << 22
	bareFrame  = 60 // bytes of a 64-byte frame without its FCS
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
		sending.Go(func() { failed = wire.A.Inside(w.Nice, func() error { return b.loop(ctx) }) })
		sample, err := b.measure(ctx, w, given)
		cancel()
		sending.Wait()
		return sample, errors.Join(err, failed)
	}}
}

// bare is the two programs.
type bare struct {
	send *ebpf.Program
	sink *wire.Counter
}

func (b *bare) measure(ctx context.Context, w *wire.Wire, given settings) (wire.Sample, error) {
	if err := wire.Wait(ctx, wire.WarmUp); err != nil {
		return wire.Sample{}, err
	}
	began := time.Now()
	before, err := b.sink.Count()
	if err != nil {
		return wire.Sample{}, err
	}
	sample, err := w.Sample(ctx, given.window, os.Getpid())
	if err != nil {
		return sample, err
	}
	after, err := b.sink.Count()
	sample.PerSecond = float64(after-before) / time.Since(began).Seconds()
	if err == nil && after == before {
		err = errors.New("no frame of the bare loop arrived")
	}
	return sample, err
}

func newBare() (b *bare, err error) {
	b = &bare{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := wire.B.Inside(0, func() error {
		device, err := netlink.LinkByName(wire.B.Device)
		if err == nil {
			b.sink, err = wire.CountAtXDP(device.Attrs().Index)
		}
		return err
	}); err != nil {
		return b, fmt.Errorf("counting on %s: %w", wire.B.Device, err)
	}
	return b, wire.A.Inside(0, func() (err error) {
		device, err := netlink.LinkByName(wire.A.Device)
		if err != nil {
			return err
		}
		b.send, err = redirectProgram(device.Attrs().Index)
		return err
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

func (b *bare) close() {
	if b.sink != nil {
		b.sink.Close()
	}
	b.send.Close()
}
