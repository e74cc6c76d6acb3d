package main

// What keeps ratios from their goals, in short, for RESULTS.md to say of those that fall short. The figures are
// of single runs by hand; LEARNED.md has them with what was tried, and on which machine.
const (
	limitOfAggregates = "On an Intel Xeon copying is 36 of the receiving CPU's 50 samples at 7.5 GB/s: who copies cannot pass 10.5 there, where the goals are 10.4 and 11.7. " +
		"On an AMD EPYC the sending CPU is full: the stack's work up to the receiving socket is its own, and until receivers slept instead of being woken, so was waking them. Tried without gain: " +
		"a small buffer for what follows the headers, other sizes of memory and of calls, a BPF program that checks the headers and drops the rest, zero copy. " +
		"Reading the first header alone of each aggregate would do for the best peer, but what is duplicate or reordered in it would not be seen. LEARNED.md, \"Traffic\"."
	limitOfSmallest = "On an Intel Xeon both CPUs are full. The kernel's receive thread has 0.33 of the receiver's 0.46 us a packet, so that no program could get more than 3.0 million a second; " +
		"the sender allocates, cuts and queues a buffer a packet. Tried without gain: other sizes of calls and of receive memory, later GRO. LEARNED.md, \"Traffic\"."
)
