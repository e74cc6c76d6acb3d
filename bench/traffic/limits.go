package main

// What keeps ratios from their goals, in short, for RESULTS.md to say of those that fall short. The figures are
// of single runs by hand; LEARNED.md has them with what was tried, and on which machine.
const (
	limitOfAggregates = "On an Intel Xeon half of the sending CPU's time is copying and three quarters of the receiving one's; from one CPU to the other it goes at 9 to 12 GB/s by itself, whatever the memory. " +
		"On an AMD EPYC the sending CPU is full, and about half of it copies: at 9 GB/s into memory that the receiving CPU has just read and still has in its own cache, and at three times that into memory that has rested, which is what ours does. Tried without gain: " +
		"a small buffer for what follows the headers, other sizes of memory and of calls, a BPF program that checks the headers and drops the rest, zero copy, longer sleeps of the receiver. " +
		"Reading the first header alone of each aggregate would do for the best peer, but what is duplicate or reordered in it would not be seen. LEARNED.md, \"Traffic\"."
	limitOfSmallest = "On an Intel Xeon both CPUs are full, and the wire carries no more: of a loop in C that does nothing but send aggregates of them, to a far end that drops them at XDP before anything is received, 1.5 to 1.9 million a second get through, three times the best peer's; " +
		"the sender allocates, cuts and queues a buffer a packet. On an AMD EPYC the receiving CPU is full: its receive thread has 70 %, the kernel's part of the receiver's calls 27, and our program 3. Tried without gain: other sizes of calls and of receive memory, later GRO. LEARNED.md, \"Traffic\"."
	limitOfZeroCopy = "On an AMD EPYC both CPUs are full or nearly so (94 to 100 % the sending one, 77 to 97 the receiving one), with what the kernel does for each packet of 1,500 bytes, and the same tool's rates differ by a third from one trial to the next. " +
		"Tried without gain: other wake-ups of the receiver (sleeps of 10 to 300 us lost a tenth to a half, with a tenth of the acknowledgements), other sizes of calls and of receive buffers, pieces of two whole segments a page. LEARNED.md, \"Traffic\"."
	limitOfDatagrams = "On an AMD EPYC a datagram costs the sender 2.6 us by whatever call; a quarter of it wakes the far end's receive thread, which has slept by the time of the next one, and the rest is spread over the stack: " +
		"seven tools send 0.33 to 0.40 million a second. Calls of 64 messages spare a tenth there, and a third on an Intel Xeon; a receiver of higher priority, which ours is, keeps the receive thread awake and brings 1.16 times as much. Tried without gain: receivers that sleep 20, 50 or 100 us, poll the interface, or poll the socket. LEARNED.md, \"Traffic\"."
	limitOfFrames = "On an AMD EPYC both CPUs are full, the bare loop's to 93 and 90 %: the sink's program waits for the line of the cache that holds a frame's number, which is 17 % of that CPU's time, and the sender's writes it, 16 % of its. The bare loop does neither. " +
		"The sink compares a frame with the one that it expects, so that nothing but one branch waits, and the sender leaves the Ethernet header's line alone. Batches of 256 frames, the kernel's most, with a wait after refusals keep the two from the lock of the pages that come back. Tried without gain: " +
		"a sender of fewer instructions, no writing of words that are right already, other waits after refusals (the warm-up chooses none or 10 us), the rest of a batch left out after one, a rate just below what is refused, a sink that asks for the next eight frames' lines at once. LEARNED.md, \"Traffic\"."
)
