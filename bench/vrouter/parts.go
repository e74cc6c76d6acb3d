package main

import (
	"windtunnel/bench"
	"windtunnel/result"
)

const (
	receiveSuite = "bench/vrouter/receive.yaml"
	framesSuite  = "bench/vrouter/frames.yaml"
	short        = "1s" // a window: many short trials tell more than few long ones
	latencyP50   = result.Metric("latency_seconds.intended.p50")
	latencyP99   = result.Metric("latency_seconds.intended.p99")
)

// parts are all that is measured, and what the vRouter is to reach.
var parts = []part{
	suitePart{title: "segmentation off", suite: "overlay", wire: "nic", window: short, ratios: []ratio{
		{over: "off-mplsoudp", under: "off-bridge", goal: bench.Goal{Ratio: 1.6}, limit: limitOfSegmentationOff},
		{over: "off-mplsoudp", under: "off-vxlan", goal: bench.Goal{Ratio: 2}, limit: limitOfSegmentationOff},
	}, costs: []ratio{
		{over: "off-mplsoudp", under: "off-flat"},
	}},
	suitePart{title: "wire as a NIC", suite: receiveSuite, wire: "nic", window: short,
		ways: []string{"socket", "xdp", "gre"},
		ratios: []ratio{
			{over: best, under: "vxlan", goal: bench.Goal{Ratio: 1.1}, limit: limitOfNIC},
			{over: best, under: "bridge", goal: bench.Goal{Ratio: 0.8}, limit: limitOfNIC},
			{over: best, under: "vxlan", metric: result.TogetherCost, goal: bench.Goal{Ratio: 0.9, AtMost: true}, limit: limitOfNIC},
		}},
	// A part of its own, so that the cells with goals have twice as many rounds.
	suitePart{title: "wire as a NIC", suite: receiveSuite, wire: "nic", window: short,
		costs: []ratio{
			{over: "socket", under: "flat"}, {over: "xdp", under: "flat"}, {over: "gre", under: "flat"},
			{over: "over6", under: "xdp"}, {over: "over6", under: "xdp", metric: result.TogetherCost},
			{over: "xdp", under: "tc"}, {over: "xdp", under: "tc", metric: result.TogetherCost},
			{over: "socket", under: "vxlan-tc"}, {over: "socket", under: "vxlan-tc", metric: result.TogetherCost},
		}},
	suitePart{title: "wire as memory", suite: "overlay", wire: "memory", window: short, ratios: []ratio{
		{over: "as-found-mplsoudp", under: "as-found-bridge", goal: bench.Goal{Ratio: 1}, limit: limitOfMemory},
	}},
	suitePart{title: "64-byte frames", suite: framesSuite, wire: "nic", window: short, ratios: []ratio{
		{over: "tc", under: "bridge", metric: result.ReceivedPacketRate, goal: bench.Goal{Ratio: 1.4}, limit: limitOfFramesAtTC},
		{over: "tc", under: "vxlan", metric: result.ReceivedPacketRate, goal: bench.Goal{Ratio: 2.5}, limit: limitOfFramesAtTC},
		{over: "fast", under: "bridge", metric: result.ReceivedPacketRate, goal: bench.Goal{Ratio: 4}, limit: limitOfFramesAtXDP},
		{over: "fast", under: "vxlan", metric: result.ReceivedPacketRate, goal: bench.Goal{Ratio: 6}, limit: limitOfFramesAtXDP},
	}, costs: []ratio{
		{over: "fast", under: "tc", metric: result.ReceivedPacketRate},
	}},
	suitePart{title: "request/response", suite: "latency", wire: "nic", ratios: []ratio{
		{over: "idle-vrouter", under: "idle-bridge", metric: latencyP50, goal: bench.Goal{Ratio: 1, AtMost: true}, limit: limitOfLatency},
		{over: "idle-vrouter", under: "idle-bridge", metric: latencyP99, goal: bench.Goal{Ratio: 1.1, AtMost: true}, limit: limitOfLatency},
	}},
	sprayPart{},
}

// says are the cells by the last part of their names, as rows have them.
var says = map[string]string{
	"bridge": "the bridge", "vxlan": "kernel VXLAN", "vrouter": "vRouter", "mplsoudp": "vRouter, MPLSoUDP", "flat": "vRouter without encapsulation",
	"tc": "vRouter, MPLSoUDP, received at tc", "xdp": "vRouter, MPLSoUDP, received at XDP",
	"over6": "vRouter, MPLSoUDP over IPv6, received at XDP",
	"gre":   "vRouter, MPLSoGRE", "socket": "vRouter, VXLAN, received at tc behind a socket's GRO", "vxlan-tc": "vRouter, VXLAN, received at tc",
	"fast": "vRouter, ports and fabric at XDP",
}

// quantities are what a ratio of a metric is about.
var quantities = map[result.Metric]string{
	"": "received rate", result.TogetherCost: "CPU time per byte of both nodes", result.ReceivedPacketRate: "frames received",
	latencyP50: "median time", latencyP99: "99th percentile of the time",
}
