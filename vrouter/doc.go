// Package vrouter holds the end-to-end tests of the vRouter, whose parts are the folders below:
//
//	core     what becomes of a packet: headers in C, shared by all movers
//	kernel   the kernel mode: eBPF at tc, loaded and attached from Go
//	poll     the poll mode: a process on DPDK, started and supplied from Go
//	config   the declarative configuration, and the tables it becomes
//	control  the agent: changes while packets flow, neighbours, the socket
//
// The tests stand in network namespaces of their own and need root; they skip without it.
package vrouter
