package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"windtunnel/bench/wire"
)

// peerPort is where peers listen that can be told.
const peerPort = 5213

// peer is a foreign tool: one file beside this one, and one line in known.
type peer struct {
	name string // with its version
	// commands are its server's and its client's for a setup.
	commands func(given settings, s setup) (commands, bool)
}

// commands are those of one trial.
type commands struct {
	server, client []string
	ready          func(context.Context, *exec.Cmd) error
	begun          func(context.Context, *exec.Cmd) error
	lingers        bool // the server goes on when its client has gone
	aggregates     bool // its receiver takes aggregates (UDP_GRO)
	message        int  // bytes of a request, where it cannot be the setup's
}

// known finds the peers that are installed; those that must be there fail.
var known = []func(context.Context) ([]peer, error){findIperf3, findNuttcp, findSockperf, findNetperf, findNeper, findNtttcp}

func findPeers(ctx context.Context) (all []peer, err error) {
	for _, find := range known {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// program is one trial of the peer, counted by the receiver's kernel.
func (p peer) program(given settings, s setup) (wire.Program, bool) {
	c, able := p.commands(given, s)
	if c.message == 0 {
		c.message = s.message
	}
	return wire.Program{Name: p.name, Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		sample, err := w.RunPeer(ctx, wire.Peer{Server: c.server, Client: c.client, Ready: c.ready, Begun: c.begun, Lingers: c.lingers, Window: given.window})
		if err != nil {
			return sample, err
		}
		sample.PerSecond = s.kernelCount(sample, c.message, c.aggregates)
		return sample, nil
	}}, able
}

func names(peers []peer) string {
	var all []string
	for _, p := range peers {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// missing is the error of a peer that must be there.
func missing(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("finding %s (Debian: apt-get install %s): %w", program, program, err)
	}
	return nil
}

// versionOf is the word after the tool's name in what it says of itself.
func versionOf(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", args[0], err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return "", fmt.Errorf("%s does not tell its version", args[0])
	}
	return fields[1], nil
}

// bindPatience is how long a server may take to bind its UDP port.
const bindPatience = 3 * time.Second

// binds is a Ready for servers that have bound a UDP port.
func binds(port int) func(context.Context, *exec.Cmd) error {
	return func(ctx context.Context, server *exec.Cmd) error {
		want := fmt.Sprintf(":%04X", port)
		for limit := time.Now().Add(bindPatience); time.Now().Before(limit); {
			for _, table := range []string{"udp", "udp6"} {
				text, err := os.ReadFile("/proc/" + strconv.Itoa(server.Process.Pid) + "/net/" + table)
				if err != nil {
					return fmt.Errorf("the server has ended before it bound its port: %w", err)
				}
				for line := range strings.Lines(string(text)) {
					if f := strings.Fields(line); len(f) > 1 && strings.HasSuffix(f[1], want) {
						return nil
					}
				}
			}
			if err := wire.Wait(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
		return fmt.Errorf("nothing has bound UDP port %d after %s", port, bindPatience)
	}
}

// flowing is how many packets have come when a client has begun in earnest, and
// flowPatience how long it may take until then.
const (
	flowing      = 500
	flowPatience = 10 * time.Second
)

// flows waits until packets come in numbers, or gives up: then the window shows what
// there is.
func flows(ctx context.Context, server *exec.Cmd) error {
	first, err := received(server.Process.Pid)
	if err != nil {
		return err
	}
	for limit := time.Now().Add(flowPatience); time.Now().Before(limit); {
		n, err := received(server.Process.Pid)
		if err != nil || n > first+flowing {
			return err
		}
		if err := wire.Wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// received is how many packets have come over the wire to a process's node.
func received(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/net/dev")
	if err != nil {
		return 0, fmt.Errorf("the server has ended: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		device, counters, _ := strings.Cut(line, ":")
		fields := strings.Fields(counters) // received: bytes, packets, ...
		if strings.TrimSpace(device) == wire.B.Device && len(fields) > 1 {
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("the server's node has no %s", wire.B.Device)
}
