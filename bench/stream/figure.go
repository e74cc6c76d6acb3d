package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netns"

	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/traffic"
)

// warmUp is how long a tool runs before its window, and margin for how long it
// goes on after it at least.
const (
	warmUp = time.Second
	margin = 400 * time.Millisecond
)

// headers of a segment: Ethernet, IPv4, TCP with timestamps.
const headers = 14 + 20 + 32

// figure is what one trial of either tool showed.
type figure struct {
	sender, receiver result.NodeSample
}

// bytes is the payload that arrived.
func (f figure) bytes() float64 {
	l := f.receiver.Links[0]
	return float64(l.RxBytes) - float64(l.RxPackets)*headers
}

// rate is in bits per second.
func (f figure) rate() float64 { return 8 * f.bytes() / f.receiver.WindowSeconds }

// cost is CPU time per byte, in seconds, of one node's CPU or both.
func (f figure) cost(sender, receiver bool) float64 {
	busy := 0.0
	if sender {
		busy += f.sender.CPUs[0].Busy
	}
	if receiver {
		busy += f.receiver.CPUs[0].Busy
	}
	return busy / f.bytes()
}

func (f figure) String() string {
	return fmt.Sprintf("%.2f Gbit/s at %.0f B a packet, CPU %.1f %% and %.1f %%, retransmitted %d", f.rate()/1e9,
		float64(f.receiver.Links[0].RxBytes)/float64(max(1, f.receiver.Links[0].RxPackets)),
		100*f.sender.CPUs[0].Busy/f.sender.WindowSeconds, 100*f.receiver.CPUs[0].Busy/f.receiver.WindowSeconds, f.sender.Stacks[0].TCPRetransmit)
}

// sampleWindow measures both nodes from now on, each by a thread on its own CPU.
func sampleWindow(ctx context.Context, window time.Duration) (figure, error) {
	var f figure
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { f.sender, errs[0] = nodeA.sample(ctx, window) })
	both.Go(func() { f.receiver, errs[1] = nodeB.sample(ctx, window) })
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	if missing := fmt.Sprint(f.sender.Missing, f.receiver.Missing); strings.Contains(missing, "cpu:") || strings.Contains(missing, "link") {
		return f, fmt.Errorf("a node could not be measured: %s", missing)
	}
	return f, nil
}

func (n node) sample(ctx context.Context, window time.Duration) (result.NodeSample, error) {
	runtime.LockOSThread() // never unlocked: the thread ends with its binding
	if err := traffic.PinThread(n.cpu); err != nil {
		return result.NodeSample{}, err
	}
	probes, err := measure.NewNode(measure.Config{
		CPUs:   []int{n.cpu},
		Stacks: []measure.Stack{{Place: n.namespace, Do: n.inside}},
		Links:  []measure.Link{{Place: n.namespace, Device: n.device, Role: result.RoleWire}},
	})
	if err != nil {
		return result.NodeSample{}, err
	}
	defer probes.Close()
	before, err := probes.Read()
	if err != nil {
		return result.NodeSample{}, err
	}
	if err := wait(ctx, window); err != nil {
		return result.NodeSample{}, err
	}
	after, err := probes.Read()
	return measure.Difference(before, after), err
}

// inside runs a function in the node's namespace; the calling thread is locked.
func (n node) inside(do func() error) error {
	home, err := netns.Get()
	if err != nil {
		return err
	}
	defer home.Close()
	there, err := netns.GetFromName(n.namespace)
	if err != nil {
		return err
	}
	defer there.Close()
	if err := netns.Set(there); err != nil {
		return err
	}
	return errors.Join(do(), netns.Set(home))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
