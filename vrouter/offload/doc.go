// Package offload translates what the tables say into rules that a device can follow: rte_flow's, for
// DPDK, and tc flower's, for switch devices of the kernel. It is pure: it reads an image of the tables,
// and touches no device.
//
// Two things hold for every rule, and tests check them with the C core:
//
//   - A packet that a rule matches leaves as the bytes that the core gives it, or is lost for the reason
//     that the rule counts. What a rule cannot know by itself, it assumes by name ([Assumption]), and what
//     a kernel's tunnel device fills in by itself, it says ([Rule.Open]).
//   - So each rule is right alone: rules may overlap, need no order and no priorities, and may be there in
//     part. A packet that none matches goes to software, which is never wrong.
//
// A way that rules cannot express so is refused, with a reason ([Refusal]).
package offload
