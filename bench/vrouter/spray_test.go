package main

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"

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
// whatever was in the page before.
func TestSpray(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (BPF)")
	}
	const count = 3
	template, err := udpFrame(senderMAC, senderIP, receiverIP)
	if err != nil {
		t.Fatal(err)
	}
	program, err := spray{template: template, destinations: count, flows: count}.program(1)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	to, flows := make(map[netip.Addr]int), make(map[uint32]int)
	for range 100 {
		options := ebpf.RunOptions{Data: make([]byte, sprayFrame), DataOut: make([]byte, sprayFrame)}
		if _, err := program.Run(&options); err != nil {
			t.Fatal(err)
		}
		frame := options.DataOut
		layers := packet.Describe(frame, len(frame))
		if len(layers) != 4 || headerSum(frame)%0xffff != 0 {
			t.Fatalf("%+v: %x", layers, frame)
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
}
