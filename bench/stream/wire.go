package main

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

	"golang.org/x/sys/unix"
)

// The kinds of wire, as suites name them: a NIC's packets leave at MTU size and
// are aggregated where they arrive, on the receiver's CPU; memory passes
// aggregates whole.
const (
	wireNIC    = "nic"
	wireMemory = "memory"
)

// The two nodes: a namespace and a CPU each.
var (
	nodeA = node{"wtst-bench-a", 0, "10.213.0.1", "wtst-a"}
	nodeB = node{"wtst-bench-b", 1, "10.213.0.2", "wtst-b"}
)

type node struct {
	namespace string
	cpu       int
	address   string
	device    string
}

// command runs a program in the node's namespace, on its CPU.
func (n node) command(ctx context.Context, nice int, args ...string) *exec.Cmd {
	full := append([]string{"netns", "exec", n.namespace, "taskset", "-c", strconv.Itoa(n.cpu), "nice", "-n", strconv.Itoa(nice)}, args...)
	cmd := exec.CommandContext(ctx, "ip", full...)
	cmd.WaitDelay = time.Second
	return cmd
}

// wire is the laid testbed. Everything lives in its namespaces and goes with them.
type wire struct {
	nodes []node
	napi  []int // the NAPI threads' ids
}

// layWire makes the testbed; nice is the NAPI threads' priority.
func layWire(ctx context.Context, kind string, nice int) (*wire, error) {
	w := &wire{nodes: []node{nodeA, nodeB}}
	for _, n := range w.nodes {
		if err := sh(ctx, "ip", "netns", "add", n.namespace); err != nil {
			w.remove()
			return nil, err
		}
	}
	if err := w.connect(ctx, kind, nice); err != nil {
		w.remove()
		return nil, err
	}
	return w, nil
}

func (w *wire) connect(ctx context.Context, kind string, nice int) error {
	if err := sh(ctx, "ip", "-n", nodeA.namespace, "link", "add", nodeA.device, "type", "veth", "peer", "name", nodeB.device, "netns", nodeB.namespace); err != nil {
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
		for _, pid := range threads {
			if err := unix.Setpriority(unix.PRIO_PROCESS, pid, nice); err != nil {
				return fmt.Errorf("setting a NAPI thread's priority: %w", err)
			}
		}
	}
	return nil
}

// plug gives the node's end its address, offloads and NAPI thread.
func (n node) plug(ctx context.Context, kind string) error {
	features := []string{"ethtool", "-K", n.device, "gro", "on"}
	if kind == wireNIC {
		features = append(features, "tso", "off", "gso", "off", "tx-udp-segmentation", "off")
	}
	for _, args := range [][]string{
		features,
		{"ip", "address", "add", n.address + "/24", "dev", n.device},
		{"ip", "link", "set", n.device, "up"},
		{"sh", "-c", "echo 1 > /sys/class/net/" + n.device + "/threaded"},
	} {
		if err := sh(ctx, "ip", append([]string{"netns", "exec", n.namespace}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// steer pins the device's NAPI threads, "napi/DEVICE-ID", to the node's CPU and
// lets them come before the application there.
func (n node) steer(ctx context.Context) (threads []int, err error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "napi/"+n.device+"-") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		if err := sh(ctx, "taskset", "-pc", strconv.Itoa(n.cpu), strconv.Itoa(pid)); err != nil {
			return nil, err
		}
		// As the testbed's own wire does: testbed/netns/steering.go says why.
		if err := sh(ctx, "chrt", "-f", "-p", "1", strconv.Itoa(pid)); err != nil {
			return nil, err
		}
		threads = append(threads, pid)
	}
	if len(threads) == 0 {
		return nil, fmt.Errorf("no NAPI thread serves %s: this kernel has no threaded NAPI on veth", n.device)
	}
	return threads, nil
}

// remove takes the namespaces away, and with them all that is in them.
func (w *wire) remove() {
	for _, n := range w.nodes {
		sh(context.Background(), "ip", "netns", "del", n.namespace)
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
