// Package profile samples what the CPUs of a node are doing: 200 times a second one of each CPU's own clocks
// interrupts whatever runs, and a BPF program counts the stack that it finds.
//
// Clocks are the kernel's (PERF_COUNT_SW_CPU_CLOCK), which are in every machine, virtual ones included, and whose
// samples are time. There are several with different periods, or samples would keep step with what is paced (clocks.go). What it cannot see is code that runs with interrupts off: that is found where they come on
// again, which the callers of that place tell apart. Time that a hypervisor takes is not sampled: clocks that came
// late ring once.
//
// So idle tasks are also measured: how long they have the CPUs, from switch to switch. That less the time in which the
// CPUs rest, which others measure, is what they work, most of it with interrupts off.
package profile
