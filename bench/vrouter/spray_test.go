package main

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/packet"
)

// TestDestinations: no two are the same, and all are where no other address of the testbed is.
func TestDestinations(t *testing.T) {
	seen, within := make(map[netip.Addr]bool), netip.MustParsePrefix("11.0.0.0/8")
	for i := range mostRoutes {
		to := destination(i)
		if seen[to] || !within.Contains(to) {
			t.Fatalf("number %d: %s", i, to)
		}
		seen[to] = true
	}
}

// TestSpray: what the program writes is a whole frame to one of the destinations, in one of the flows,
// whatever was in the page before; of IPv6, in one of the flows.
func TestSpray(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (BPF)")
	}
	const count = 3
	var f templates
	to, flows := make(map[netip.Addr]int), make(map[uint32]int)
	frames := sprayed(t, spray{template: f.udp(gatewayMAC, senderIP, receiverIP), destinations: count, flows: count}, sprayFrame)
	for _, frame := range frames {
		if headerSum(frame)%0xffff != 0 {
			t.Fatalf("a wrong checksum: %x", frame)
		}
		address, _ := netip.AddrFromSlice(frame[offsetTo : offsetTo+4])
		to[address]++
		flows[binary.BigEndian.Uint32(frame[offsetPorts:])]++
	}
	if len(to) != count || len(flows) != count {
		t.Errorf("destinations %v, flows %v", to, flows)
	}
	for i := range count {
		if to[destination(i)] == 0 {
			t.Errorf("%s is left out of %v", destination(i), to)
		}
	}
	clear(flows)
	for _, frame := range sprayed(t, spray{template: f.udp(gatewayMAC, senderIP6, receiverIP6), flows: count}, sprayFrame6) {
		flows[binary.BigEndian.Uint32(frame[offsetPorts6:])]++
	}
	if f.err != nil || len(flows) != count {
		t.Errorf("of IPv6, flows %v; %v", flows, f.err)
	}
}

// sprayed are a hundred frames.
func sprayed(t *testing.T, s spray, length int) (frames [][]byte) {
	t.Helper()
	over, err := newWord()
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	program, err := s.program(1, over)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for range 100 {
		options := ebpf.RunOptions{Data: make([]byte, length), DataOut: make([]byte, length)}
		if _, err := program.Run(&options); err != nil {
			t.Fatal(err)
		}
		if layers := packet.Describe(options.DataOut, length); len(layers) != 4 {
			t.Fatalf("%+v: %x", layers, options.DataOut)
		}
		frames = append(frames, options.DataOut)
	}
	if err := over.Put(uint32(0), uint32(1)); err != nil {
		t.Fatal(err)
	}
	const drop = 1 // XDP_DROP
	if action, err := program.Run(&ebpf.RunOptions{Data: make([]byte, length)}); err != nil || action != drop {
		t.Errorf("a spray that is over: action %d, %v", action, err)
	}
	return frames
}

// TestSprayNetworks: every network that a ratio names is there, every other one is of use, and both nodes'
// configurations are valid.
func TestSprayNetworks(t *testing.T) {
	networks, err := sprayNetworks(20, 20)
	if err != nil {
		t.Fatal(err)
	}
	b, named := &bed{networks: networks}, make(map[string]bool)
	for _, r := range sprayRatios(20, 20) {
		named[r.over], named[r.under] = true, true
	}
	for _, n := range networks {
		if !named[n.name] {
			t.Errorf("no ratio names %s", n.name)
		}
		delete(named, n.name)
	}
	if len(named) != 0 {
		t.Errorf("there are no networks %v", named)
	}
	for _, c := range []config.Config{b.sending(), b.receiving()} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
