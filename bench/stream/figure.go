package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

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

// figure is what one trial of either tool showed.
type figure struct {
	sender, receiver result.NodeSample
	received         uint64        // payload, as the receiver's TCP counts it
	own              time.Duration // CPU time of the tool and the NAPI threads
}

// bytes is the payload that arrived, in order and once.
func (f figure) bytes() float64 { return float64(f.received) }

// foreign is the share of the two CPUs' time that went to neither the tool nor
// the wire: other programs of this machine.
func (f figure) foreign() float64 {
	busy := f.sender.CPUs[0].Busy + f.receiver.CPUs[0].Busy
	return (busy - f.own.Seconds()) / (f.sender.WindowSeconds + f.receiver.WindowSeconds)
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
	return fmt.Sprintf("%.2f Gbit/s at %.0f B a packet, CPU %.1f %% and %.1f %%, retransmitted %d, others %.1f %%", f.rate()/1e9,
		float64(f.receiver.Links[0].RxBytes)/float64(max(1, f.receiver.Links[0].RxPackets)),
		100*f.sender.CPUs[0].Busy/f.sender.WindowSeconds, 100*f.receiver.CPUs[0].Busy/f.receiver.WindowSeconds, f.sender.Stacks[0].TCPRetransmit, 100*f.foreign())
}

// sampleWindow measures both nodes from now on, each by a thread on its own CPU.
// The tool's processes are named so that what other programs use can be told.
func (w *wire) sampleWindow(ctx context.Context, window time.Duration, tool ...int) (figure, error) {
	var f figure
	var from, to [2]edge
	var errs [2]error
	var both sync.WaitGroup
	for i, n := range w.nodes {
		both.Go(func() { from[i], to[i], errs[i] = n.edges(ctx, window) })
	}
	both.Go(func() { f.own = cpuTimeOver(ctx, window, append(tool, w.napi...)) })
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	f.sender = measure.Difference(from[0].snapshot, to[0].snapshot)
	f.receiver = measure.Difference(from[1].snapshot, to[1].snapshot)
	f.received = receivedBetween(from[1], to[1])
	if missing := fmt.Sprint(f.sender.Missing, f.receiver.Missing); strings.Contains(missing, "cpu:") || strings.Contains(missing, "link") {
		return f, fmt.Errorf("a node could not be measured: %s", missing)
	}
	return f, nil
}

// edge is what is read at either end of the window.
type edge struct {
	snapshot measure.Snapshot
	received map[socketID]uint64 // bytes of every socket of the node, by TCP_INFO
}

// socketID names a connection: its ports, and the kernel's cookie of the socket.
type socketID struct {
	local, remote uint16
	cookie        [2]uint32
}

// receivedBetween sums over the sockets that stood through the window.
func receivedBetween(from, to edge) (sum uint64) {
	for id, n := range to.received {
		if before, ok := from.received[id]; ok && n > before {
			sum += n - before
		}
	}
	return sum
}

// edges reads a node now and after the window.
func (n node) edges(ctx context.Context, window time.Duration) (from, to edge, err error) {
	runtime.LockOSThread() // never unlocked: the thread ends with its binding and namespace
	if err := errors.Join(traffic.PinThread(n.cpu), n.enter()); err != nil {
		return from, to, err
	}
	probes, err := measure.NewNode(measure.Config{
		CPUs:   []int{n.cpu},
		Stacks: []measure.Stack{{Place: n.namespace, Do: func(do func() error) error { return do() }}},
		Links:  []measure.Link{{Place: n.namespace, Device: n.device, Role: result.RoleWire}},
	})
	if err != nil {
		return from, to, err
	}
	defer probes.Close()
	if from, err = readEdge(probes); err != nil {
		return from, to, err
	}
	if err := wait(ctx, window); err != nil {
		return from, to, err
	}
	to, err = readEdge(probes)
	return from, to, err
}

// readEdge asks the kernel for every socket's bytes (inet_diag), which is the
// same for either tool.
func readEdge(probes *measure.Node) (edge, error) {
	e := edge{received: map[socketID]uint64{}}
	var err error
	if e.snapshot, err = probes.Read(); err != nil {
		return e, err
	}
	sockets, err := netlink.SocketDiagTCPInfo(unix.AF_INET)
	for _, s := range sockets {
		if s.TCPInfo != nil && s.InetDiagMsg != nil {
			id := s.InetDiagMsg.ID
			e.received[socketID{id.SourcePort, id.DestinationPort, id.Cookie}] = s.TCPInfo.Bytes_received
		}
	}
	return e, err
}

// enter moves the calling thread into the node's namespace.
func (n node) enter() error {
	there, err := netns.GetFromName(n.namespace)
	if err != nil {
		return err
	}
	defer there.Close()
	return netns.Set(there)
}

// cpuTimeOver is the CPU time that processes use from now until the window's end.
func cpuTimeOver(ctx context.Context, window time.Duration, pids []int) time.Duration {
	before := cpuTime(pids)
	if wait(ctx, window) != nil {
		return 0
	}
	return cpuTime(pids) - before
}

// cpuTime reads the processes' CPU clocks; a clock's id is made of the process's
// (include/linux/posix-timers_types.h: CPUCLOCK_SCHED).
func cpuTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		var now unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|2), &now) == nil {
			sum += time.Duration(now.Nano())
		}
	}
	return sum
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
