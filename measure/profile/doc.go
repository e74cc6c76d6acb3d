// Package profile samples what the CPUs of a node are doing: 400 times a second each CPU's own clock
// interrupts whatever runs, and a BPF program counts the stack that it finds.
//
// The clock is the kernel's (PERF_COUNT_SW_CPU_CLOCK), which is in every machine, virtual ones included, and whose
// samples are time. What it cannot see is code that runs with interrupts off: that is found where they come on
// again, which the callers of that place tell apart. Time that a hypervisor takes is not sampled: clocks that came
// late ring once.
package profile
