// Package poll is the poll mode: a DPDK process around vrouter/core, which this package starts, watches
// and gives its tables to. The process is C in this folder (main.c first); `make poll` builds it. It
// shares memory with the agent (image.h, image.go), which writes the tables by the same plan as in
// kernel mode, while packets flow and without a lock: a grace period is a round of every core.
package poll
