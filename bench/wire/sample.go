package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// WarmUp is how long a program runs before its window, and Margin for how long it
// goes on after it at least.
const (
	WarmUp = time.Second
	Margin = 400 * time.Millisecond
)

// Sample is what one trial of one program showed.
type Sample struct {
	Sender, Receiver result.NodeSample
	ReceivedTCP      uint64        // payload, as the receiving sockets' TCP counts it
	ReceivedUDP      uint64        // datagrams handed to the receiving node's sockets; an aggregate is one
	DroppedUDP       uint64        // and those that were not, most because a socket had no room
	Others           time.Duration // CPU time of all processes but the program's and the NAPI threads
	PerSecond        float64       // bytes, packets or transactions, as who runs the program counts them
	Far              time.Duration // how long a cache line took between the CPUs as the window began, or as it ended: the longer
	Apart            bool          // that was long for them
	Failed           error         // a trial of a peer that hung or gave up: nothing was measured
}

// Foreign is the CPU time that went to neither the program nor the wire but to other
// programs of this machine, as a share of the two CPUs' time.
func (s Sample) Foreign() float64 {
	if s.Failed != nil {
		return 0
	}
	return s.Others.Seconds() / (s.Sender.WindowSeconds + s.Receiver.WindowSeconds)
}

// RateTCP is the payload that arrived, in order and once, in bits per second.
func (s Sample) RateTCP() float64 { return 8 * float64(s.ReceivedTCP) / s.Receiver.WindowSeconds }

// CostTCP is the CPU time of both nodes per byte of it, in seconds; +Inf when nothing
// arrived.
func (s Sample) CostTCP() float64 {
	if s.ReceivedTCP == 0 {
		return math.Inf(1)
	}
	return (s.Sender.CPUs[0].Busy + s.Receiver.CPUs[0].Busy) / float64(s.ReceivedTCP)
}

func (s Sample) String() string {
	if s.Failed != nil {
		return "failed: " + s.Failed.Error()
	}
	link := s.Receiver.Links[0]
	return fmt.Sprintf("TCP %.2f Gbit/s, %.3f Mpps at %.0f B a packet, CPU %.1f %% and %.1f %%, retransmitted %d, others %.1f %%, a line in %v", s.RateTCP()/1e9,
		float64(link.RxPackets)/s.Receiver.WindowSeconds/1e6, float64(link.RxBytes)/float64(max(1, link.RxPackets)),
		100*s.Sender.CPUs[0].Busy/s.Sender.WindowSeconds, 100*s.Receiver.CPUs[0].Busy/s.Receiver.WindowSeconds, s.Sender.Stacks[0].TCPRetransmit, 100*s.Foreign(), s.Far)
}

// Sample measures both nodes from now on, each by a thread on its own CPU, and right before and after that how far these are from each other.
// The program's processes are named, with their children, so that what other programs use can be told.
func (w *Wire) Sample(ctx context.Context, window time.Duration, program ...int) (Sample, error) {
	before, errBefore := w.cpus.apart()
	farBefore := w.cpus.last()
	s, err := w.between(ctx, window, program)
	after, errAfter := w.cpus.apart()
	s.Apart, s.Far = before || after, max(farBefore, w.cpus.last())
	return s, errors.Join(errBefore, err, errAfter)
}

func (w *Wire) between(ctx context.Context, window time.Duration, program []int) (Sample, error) {
	var f Sample
	var from, to [2]edge
	var errs [2]error
	var both sync.WaitGroup
	before := readOthers(append(descendants(program), w.napi...))
	for i, n := range w.nodes {
		both.Go(func() { from[i], to[i], errs[i] = n.edges(ctx, w.Nice, window) })
	}
	both.Wait()
	f.Others = readOthers(append(descendants(program), w.napi...)).since(before)
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	f.Sender = measure.Difference(from[0].snapshot, to[0].snapshot)
	f.Receiver = measure.Difference(from[1].snapshot, to[1].snapshot)
	f.ReceivedTCP = receivedBetween(from[1], to[1])
	f.ReceivedUDP = to[1].udp.datagrams - from[1].udp.datagrams
	f.DroppedUDP = to[1].udp.errors - from[1].udp.errors
	if missing := fmt.Sprint(f.Sender.Missing, f.Receiver.Missing); strings.Contains(missing, "cpu:") || strings.Contains(missing, "link") {
		return f, fmt.Errorf("a node could not be measured: %s", missing)
	}
	return f, nil
}

// edge is what is read at either end of the window.
type edge struct {
	snapshot measure.Snapshot
	received map[socketID]uint64 // bytes of every socket of the node, by TCP_INFO
	udp      udpCounters
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

// edges reads a node now and after the window, with the priority of the programs:
// else it would have no turn beside one of a higher.
func (n Node) edges(ctx context.Context, nice int, window time.Duration) (from, to edge, err error) {
	runtime.LockOSThread() // never unlocked: the thread ends with its binding and namespace
	if err := errors.Join(traffic.PinThread(n.CPU), unix.Setpriority(unix.PRIO_PROCESS, 0, nice), n.enter()); err != nil {
		return from, to, err
	}
	probes, err := measure.NewNode(measure.Config{
		CPUs:   []int{n.CPU},
		Stacks: []measure.Stack{{Place: n.Namespace, Do: func(do func() error) error { return do() }}},
		Links:  []measure.Link{{Place: n.Namespace, Device: n.Device, Role: result.RoleWire}},
	})
	if err != nil {
		return from, to, err
	}
	defer probes.Close()
	if from, err = readEdge(probes); err != nil {
		return from, to, err
	}
	if err := Wait(ctx, window); err != nil {
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
	if e.udp, err = readUDP(); err != nil {
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
func (n Node) enter() error {
	there, err := netns.GetFromName(n.Namespace)
	if err != nil {
		return err
	}
	defer there.Close()
	return netns.Set(there)
}

// descendants are the processes and all their children, who may do the work.
func descendants(pids []int) (all []int) {
	for len(pids) > 0 {
		pid := pids[0]
		all, pids = append(all, pid), pids[1:]
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				continue // it has ended
			}
			for child := range strings.FieldsSeq(string(text)) {
				if n, err := strconv.Atoi(child); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return all
}

func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
