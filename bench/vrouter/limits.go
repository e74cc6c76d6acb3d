package main

// What keeps ratios from their goals, in short, for RESULTS.md to say of those that fall short. The figures are
// of single runs by hand; LEARNED.md has them with what was tried, and on which machine.
const (
	limitOfSegmentationOff = "On an Intel Xeon, with programs that only redirect, without look-up, headers or counters, it was 1.52 and 1.92: what the kernel does for each packet " +
		"between the two programs and in TCP is the limit. With all its work the vRouter had 1.35 and 1.75 then; another helper for the headers' room changed nothing. " +
		"LEARNED.md, \"vRouter: floors\" and \"vRouter: single packets\"."
	limitOfNIC = "By profiles on an AMD EPYC, the switch itself is 248 of the 1,430 ns a KiB that the kernel's VXLAN takes of both CPUs, and 66 of the vRouter's 1,263. All else is cutting before the wire, " +
		"joining behind it, TCP and copies, which no switch decides: a vRouter that took no time would be 0.84 of VXLAN's cost; without a tunnel it is 0.85, and the bridge 0.88. " +
		"The rate is limited by losses at the wire's full ring, for all of them. Tried without gain: letting go of the sending socket, delivery by the backlog, " +
		"a queue before the wire, headers off at XDP. LEARNED.md, \"vRouter: wire as a NIC\"."
	limitOfMemory     = "Aggregates cross whole, so that copying into and out of the programs, and TCP, which all have in common, is most of it. LEARNED.md, \"vRouter: receive aggregation\"."
	limitOfFramesAtTC = "On an Intel Xeon, with programs that only redirect it was 1.40 and 1.99: of the sending CPU's 640 ns a packet the program has 48, the rest is the kernel's way " +
		"from one device to the next. Tried without gain: only the short way for ordinary packets, another helper for the headers' room, both. " +
		"LEARNED.md, \"vRouter: floors\" and \"vRouter: single packets\"."
	limitOfFramesAtXDP = "On an Intel Xeon, with nothing but two look-ups at the receiver it was 4.20 and 5.95, the goals' edge. The receiving CPU waits 109 of its 269 ns a packet " +
		"for the frame's own record, which the sending one wrote, and 27 for the packet's first bytes; the program's own work is 24. Tried without gain: one record of counters, " +
		"a redirect without device map, packing the packet behind its record. LEARNED.md, \"vRouter: single packets\"."
	limitOfLatency = "No limit is known: one late wake-up decides such a time, of the bridge's requests as of the vRouter's, and the bounds are as wide as those."
	limitOfRoutes  = "On an Intel Xeon, a route out of a million is one load that no cache has, 157 of the 230 ns more by perf, where 0.8 leaves 118. Tried without gain: comparing without a branch, " +
		"looking up before parsing, twice as many buckets, larger pages (nothing to be had for BPF's arrays). LEARNED.md, \"vRouter: single packets\"."
	limitOfFlows = "On an Intel Xeon, a flow out of a million is two to three loads that no cache has, 277 ns for the first alone, where 0.6 leaves 350 in all. Tried without gain: the kernel's hash map, " +
		"entries of 160 bytes, asking for both lines at once, no counts, asking for the entry before the packet is parsed. LEARNED.md, \"vRouter: single packets\"."
)
