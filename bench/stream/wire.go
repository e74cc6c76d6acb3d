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
func (n node) command(ctx context.Context, args ...string) *exec.Cmd {
	full := append([]string{"netns", "exec", n.namespace, "taskset", "-c", strconv.Itoa(n.cpu)}, args...)
	cmd := exec.CommandContext(ctx, "ip", full...)
	cmd.WaitDelay = time.Second
	return cmd
}

// wire is the laid testbed. Everything lives in its namespaces and goes with them.
type wire struct{ nodes []node }

func layWire(ctx context.Context, kind string) (*wire, error) {
	w := &wire{[]node{nodeA, nodeB}}
	for _, n := range w.nodes {
		if err := sh(ctx, "ip", "netns", "add", n.namespace); err != nil {
			w.remove()
			return nil, err
		}
	}
	if err := w.connect(ctx, kind); err != nil {
		w.remove()
		return nil, err
	}
	return w, nil
}

func (w *wire) connect(ctx context.Context, kind string) error {
	if err := sh(ctx, "ip", "-n", nodeA.namespace, "link", "add", nodeA.device, "type", "veth", "peer", "name", nodeB.device, "netns", nodeB.namespace); err != nil {
		return err
	}
	for _, n := range w.nodes {
		if err := n.plug(ctx, kind); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		if err := n.steer(ctx); err != nil {
			return err
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

// steer pins the device's NAPI thread, "napi/DEVICE-ID", to the node's CPU.
func (n node) steer(ctx context.Context) error {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return err
	}
	found := false
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "napi/"+n.device+"-") {
			continue
		}
		found = true
		pid := filepath.Base(filepath.Dir(name))
		if err := sh(ctx, "taskset", "-pc", strconv.Itoa(n.cpu), pid); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("no NAPI thread serves %s: this kernel has no threaded NAPI on veth", n.device)
	}
	return nil
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
