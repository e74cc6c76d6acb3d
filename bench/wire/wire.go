// Package wire is the testbed on which peers are compared: two network namespaces
// with a CPU each and a veth pair between them, a window in which both nodes are
// sampled, and the programs that run in them.
package wire

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"windtunnel/testbed/netns"
)

// The kinds of wire, as suites name them: a NIC's packets leave at MTU size and
// are aggregated where they arrive, on the receiver's CPU; memory passes
// aggregates whole.
const (
	NIC    = "nic"
	Memory = "memory"
)

// The two nodes: a namespace and a CPU each. Traffic flows from A to B.
var (
	A = Node{"wtst-bench-a", 0, "10.213.0.1", "wtst-a"}
	B = Node{"wtst-bench-b", 1, "10.213.0.2", "wtst-b"}
)

// Network is the wire's.
const Network = "10.213.0.0/24"

// emptyLooks are how often in a row a moderated device finds nothing before it sleeps until it is woken.
const emptyLooks = 100

// Node is one end of the wire.
type Node struct {
	Namespace string
	CPU       int
	Address   string // IPv4
	Device    string // its end of the wire
}

// Command runs a program in the node's namespace, on its CPU.
func (n Node) Command(ctx context.Context, nice int, args ...string) *exec.Cmd {
	full := append([]string{"netns", "exec", n.Namespace, "taskset", "-c", strconv.Itoa(n.CPU), "nice", "-n", strconv.Itoa(nice)}, args...)
	cmd := exec.CommandContext(ctx, "ip", full...)
	cmd.WaitDelay = time.Second
	return cmd
}

// Wire is the laid testbed. Everything lives in its namespaces and goes with them.
type Wire struct {
	Nice  int // the priority of programs
	nodes []Node
	napi  []int  // the NAPI threads' ids
	dir   string // where peers run, who may leave logs there
	cpus  distance
}

// Lay makes the testbed; nice is the programs' priority. Its receive threads are as the
// testbed's own.
func Lay(ctx context.Context, kind string, nice int) (*Wire, error) {
	dir, err := os.MkdirTemp("", "wtst-bench-")
	if err != nil {
		return nil, err
	}
	w := &Wire{Nice: nice, dir: dir, cpus: distance{measure: func() (time.Duration, error) { return handoff(A.CPU, B.CPU) }}}
	for _, n := range []Node{A, B} {
		if err := sh(ctx, "ip", "netns", "add", n.Namespace); err != nil {
			w.Remove()
			return nil, fmt.Errorf("%w; if it is there already, another benchmark runs, or one was killed: `ip netns pids %s` lists what is left to end, and `ip netns delete %s` removes it", err, n.Namespace, n.Namespace)
		}
		w.nodes = append(w.nodes, n) // what another one made is not this one's to remove
	}
	if err := w.connect(ctx, kind); err != nil {
		w.Remove()
		return nil, err
	}
	return w, nil
}

func (w *Wire) connect(ctx context.Context, kind string) error {
	if err := sh(ctx, "ip", "-n", A.Namespace, "link", "add", A.Device, "type", "veth", "peer", "name", B.Device, "netns", B.Namespace); err != nil {
		return err
	}
	for _, n := range w.nodes {
		if err := n.plug(ctx, kind); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		threads, err := n.steer(ctx)
		if err != nil {
			return err
		}
		w.napi = append(w.napi, threads...)
	}
	return nil
}

// plug gives the node's end its address, offloads and NAPI thread, and cubic to
// the programs that cannot be told.
func (n Node) plug(ctx context.Context, kind string) error {
	features := []string{"ethtool", "-K", n.Device, "gro", "on"}
	if kind == NIC {
		features = append(features, "tso", "off", "gso", "off", "tx-udp-segmentation", "off")
	}
	for _, args := range [][]string{
		features,
		{"ip", "address", "add", n.Address + "/24", "dev", n.Device},
		{"ip", "link", "set", n.Device, "up"},
		{"ip", "link", "set", "lo", "up"},
		{"sh", "-c", "echo 1 > /sys/class/net/" + n.Device + "/threaded"},
		// Not by the namespace's default, which may only be one that all users may take.
		{"ip", "route", "change", Network, "dev", n.Device, "src", n.Address, "congctl", "cubic"},
	} {
		if err := sh(ctx, "ip", append([]string{"netns", "exec", n.Namespace}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Moderate makes the nodes' devices wait before they look for packets again, as NICs do with their
// interrupts. Where packets are few, a sender would else spend its time on waking the receiver for each.
func (w *Wire) Moderate(ctx context.Context, pause time.Duration) error {
	for _, n := range w.nodes {
		queue := "/sys/class/net/" + n.Device
		script := fmt.Sprintf("echo %d > %s/gro_flush_timeout; echo %d > %s/napi_defer_hard_irqs", pause.Nanoseconds(), queue, emptyLooks, queue)
		if err := sh(ctx, "ip", "netns", "exec", n.Namespace, "sh", "-ec", script); err != nil {
			return err
		}
	}
	return nil
}

// steer pins the device's NAPI threads, "napi/DEVICE-ID", to the node's CPU and
// lets them share it, as the testbed's own wire does.
func (n Node) steer(ctx context.Context) (threads []int, err error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "napi/"+n.Device+"-") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		if err := sh(ctx, "taskset", "-pc", strconv.Itoa(n.CPU), strconv.Itoa(pid)); err != nil {
			return nil, err
		}
		if err := netns.ShareReceive(pid); err != nil {
			return nil, err
		}
		threads = append(threads, pid)
	}
	if len(threads) == 0 {
		return nil, fmt.Errorf("no NAPI thread serves %s: this kernel has no threaded NAPI on veth", n.Device)
	}
	return threads, nil
}

// Remove takes the namespaces away, and with them all that is in them.
func (w *Wire) Remove() {
	os.RemoveAll(w.dir)
	for _, n := range w.nodes {
		sh(context.Background(), "ip", "netns", "del", n.Namespace)
	}
}

func sh(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
