package main

import (
	"fmt"
	"net/netip"

	"windtunnel/bench"
	"windtunnel/vrouter/packet"
)

const (
	fewRoutes  = 10
	mostRoutes = 1_900_000 // 2,000,000 are the vRouter's limit
	fewFlows   = 10
	manyFlows  = 1_000_000
	peerFlows  = 100_000
)

// The data planes.
const (
	fewName     = "few"
	manyName    = "many"
	flowsName   = "flows"
	sumName     = "sum"
	handName    = "hand"
	testpmdName = "testpmd"
	ovsName     = "ovs"
	otherName   = "other" // another build of the vRouter
)

// cell is a data plane and what it is sent.
type cell struct {
	name   string
	device string
	frames frames
}

const (
	frameSize   = 60 // and the FCS
	offsetTo    = 30 // the destination address, behind which come the ports
	offsetPorts = 34
	udpSum      = 6 // behind the ports' offset
	// flowMask are the bits of both ports in which flows differ, and flowStep is the lowest of them: the lower
	// bits of the destination's stay, so that it is never a tunnel's.
	flowMask = 0xfffff000
	flowStep = 0x1000
)

// template is a frame to an address, without a UDP checksum, since its addresses and ports change (RFC 768).
func template(to netip.Addr) ([]byte, error) {
	frame, err := packet.Build(packet.Spec{DestinationMAC: gatewayMAC, SourceMAC: senderMAC, Source: senderIP, Destination: to, Protocol: "udp",
		SourcePort: 40000, DestinationPort: 0x7041, Size: frameSize - 14, TTL: 64})
	if err != nil {
		return nil, err
	}
	frame[offsetPorts+udpSum], frame[offsetPorts+udpSum+1] = 0, 0
	return frame, nil
}

// cells are all that is measured.
func cells(s settings) (all []cell, err error) {
	add := func(name, device string, to netip.Addr, f frames) {
		if err == nil {
			f.template, err = template(to)
			all = append(all, cell{name, device, f})
		}
	}
	one := frames{at: offsetPorts, count: 1}
	spread := func(n int) frames { return frames{at: offsetTo, count: n, step: spreadFactor, mask: spreadMask} }
	flows := func(n int) frames { return frames{at: offsetPorts, count: n, step: flowStep, mask: flowMask} }
	add("bare", fewName, bareIP, one)
	add("mpls", fewName, mplsIP, one)
	add("vxlan", fewName, vxlanIP, one)
	add("vxlan-sum", sumName, vxlanIP, one)
	add("vxlan-flows", fewName, vxlanIP, flows(peerFlows))
	add("mpls-flows", fewName, mplsIP, flows(peerFlows))
	add("hand-flows", handName, mplsIP, flows(peerFlows))
	add("few", fewName, destination(0), spread(fewRoutes))
	add("many", manyName, destination(0), spread(s.routes))
	add("few-flows", flowsName, mplsIP, flows(fewFlows))
	add("many-flows", flowsName, mplsIP, flows(manyFlows))
	add("testpmd", testpmdName, bareIP, one)
	add("ovs", ovsName, vxlanIP, one)
	add("ovs-flows", ovsName, vxlanIP, flows(peerFlows))
	if s.against != "" {
		for name, to := range map[string]netip.Addr{"other-bare": bareIP, "other-mpls": mplsIP, "other-vxlan": vxlanIP} {
			add(name, otherName, to, one)
		}
	}
	return all, err
}

// What keeps ratios from their goals, in short; LEARNED.md has what was tried.
const (
	libraryLimit = "Most of a packet's cycles are the vhost library's, which all three data planes call alike: of 240 to 265 it has about 140, in two copies and two rings. " +
		"Tried: the library without DPDK's driver around it (15 to 20 cycles fewer, kept), bursts of 64, one program for the compiler (kept), instructions of x86-64-v3, -O2 instead of -O3 (nothing)."
	tablesLimit = "A random one of a million is in no cache: it is asked for in advance, for a burst at once, from huge pages, which hides most of a wait and not all."
)

// ratio is one of two cells.
type ratio struct {
	what, over, under string
	goal              float64 // 0: there is none
	limit             string  // what keeps it from the goal, where it falls short
}

func ratios(s settings) (goals, costs []ratio) {
	goals, costs = []ratio{
		{"poll mode, MPLSoUDP / without an overlay", "mpls", "bare", 0.75, ""},
		{"poll mode without an overlay / testpmd, io", "bare", "testpmd", 0.7, libraryLimit},
		{"poll mode, VXLAN / OVS-DPDK, VXLAN, 1 flow", "vxlan", "ovs", 1.2, libraryLimit},
		{fmt.Sprintf("poll mode, VXLAN / OVS-DPDK, VXLAN, %d flows", peerFlows), "vxlan-flows", "ovs-flows", 1.5, ""},
		{fmt.Sprintf("poll mode, %d routes / %d, random destinations", s.routes, fewRoutes), "many", "few", 0.8, tablesLimit},
		{fmt.Sprintf("poll mode, %d flows / %d, random flows", manyFlows, fewFlows), "many-flows", "few-flows", 0.6, tablesLimit},
	}, []ratio{
		{what: "poll mode, VXLAN / MPLSoUDP", over: "vxlan", under: "mpls"},
		{what: "poll mode, VXLAN with an outer UDP checksum / without", over: "vxlan-sum", under: "vxlan"},
		{what: fmt.Sprintf("poll mode, two CPUs that forward what one of them reads / one CPU, %d flows", peerFlows), over: "hand-flows", under: "mpls-flows"},
		{what: fmt.Sprintf("poll mode, flow mode / packet mode, %d flows", fewFlows), over: "few-flows", under: "mpls"},
	}
	if s.against == "" {
		return goals, costs
	}
	for _, way := range []string{"bare", "mpls", "vxlan"} {
		costs = append(costs, ratio{what: "this build / the other one, " + way, over: way, under: "other-" + way})
	}
	return goals, costs
}

// compared is a ratio's two rows: by busy cycles, which has the goal, and by the rate.
type compared struct {
	ratio
	cycles, rate *bench.Comparison
}

func newCompared(r ratio) compared {
	return compared{r, &bench.Comparison{What: "packets per busy cycle, " + r.what, Goal: bench.Goal{Ratio: r.goal}, Limit: r.limit},
		&bench.Comparison{What: "beside it, packets per second, " + r.what}}
}

// end says why there is no figure, where every round was left out.
func (c compared) end() {
	for _, row := range []*bench.Comparison{c.cycles, c.rate} {
		if len(row.Ours) == 0 && row.Why == "" {
			row.Why = "others had the CPUs in every round"
		}
	}
}

// add takes a round's trials. A cell that was not measured says why.
func (c compared) add(samples map[string]sample, why map[string]string) {
	for _, name := range []string{c.over, c.under} {
		if why[name] != "" {
			c.cycles.Why, c.rate.Why = why[name], why[name]
			return
		}
	}
	over, first := samples[c.over]
	under, second := samples[c.under]
	if !first || !second {
		return // others had the CPUs
	}
	c.cycles.Add(1/over.cycles, 1/under.cycles)
	c.rate.Add(over.rate, under.rate)
}
