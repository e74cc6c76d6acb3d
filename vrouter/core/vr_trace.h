/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The steps of a decision, for the tools. The programs that forward compile them to nothing; those
 * that trace record them, from the same source. A new step is one line here; Go's constants are
 * generated from these lines.
 */
#ifndef VR_TRACE_H
#define VR_TRACE_H

#include "vr_types.h"

/* clang-format off */
#define VR_STEPS(X)                                                                                \
	X(vif,     "the port was found: a is its vif")                                             \
	X(source,  "the sender is the port: a is its address")                                     \
	X(arp,     "an ARP request: a is who is asked for, b who asks")                            \
	X(ttl,     "a router's hop: a is the time to live")                                        \
	X(route,   "a route was found: a is its word, b the address")                              \
	X(label,   "a label of this node: a is the label")                                         \
	X(vni,     "a network of this node: a is the VNI")                                         \
	X(outer,   "the tunnel's header: a is the far end, b its traffic class")                   \
	X(ecn,     "congestion marks: a is the outer, b the inner traffic class")                  \
	X(handed,  "XDP took the tunnel's headers off: a is the vif, b the interface")             \
	X(flow,    "flow mode: it passes: a is the vif, b how (enum vr_flow_way)")                \
	X(fits,    "the length was compared: a is the longest packet's, b the MTU")                \
	X(verdict, "the decision: a is the operation, b the drop reason")                          \
	X(loss,    "lost: a is the drop reason")                                                   \
	X(pass,    "handed on to the host's stack")                                                \
	X(leave,   "sent: a is the interface, b whether straight into the container")              \
	X(source6, "as source, IPv6: a and b are the address")                                     \
	X(target6, "where an IPv6 packet goes: a and b are the address")                           \
	X(route6,  "as route, to the target: a is its word")                                       \
	X(nd,      "a neighbour solicitation: a and b are who is asked for")                       \
	X(outer6,  "as outer, IPv6: a and b are the far end")                                      \
	X(translate, "another network's routes: a is its record")                                  \
	X(member,  "one of several ways: a is its word, b the flow's bucket")                      \
	X(fast,    "XDP forwarded it if a is 0; else a is why it did not (enum vr_left)")   \
	X(mac,     "a MAC address was looked up: a is its route, 0 if there is none, b the MAC")   \
	X(copy,    "a copy for one of all: a is its route, b the drop reason, 0 if it is made")    \
	X(quoted,  "an ICMP error, which has the way of the flow that it is about")
/* clang-format on */

enum vr_step {
	VR_STEP_NONE = 0,
#define VR_X(name, text) VR_STEP_##name,
	VR_STEPS(VR_X)
#undef VR_X
	    VR_STEP_COUNT
};

#ifdef VR_TRACING
static void vr_step(enum vr_step step, uint64_t a, uint64_t b);
#define VR_STEP(name, a, b) vr_step(VR_STEP_##name, (a), (b))
#else
#define VR_STEP(name, a, b) ((void)0)
#endif

/* What is recorded of a packet. Shared with kernel/trace.go. */
/* Two for each copy of the longest flood list, and what comes before. */
#define VR_TRACE_STEPS 160
#define VR_TRACE_HEAD 128

struct vr_trace_step {
	uint64_t step;
	uint64_t a;
	uint64_t b;
};

struct vr_trace_log {
	uint64_t time; /* nanoseconds of CLOCK_MONOTONIC */
	uint32_t fabric;
	uint32_t ifindex;
	uint32_t length;
	uint32_t gso_size;
	uint32_t head_length;
	uint32_t count;
	struct vr_trace_step steps[VR_TRACE_STEPS];
	uint8_t head[VR_TRACE_HEAD];
};
_Static_assert(sizeof(struct vr_trace_log) == 32 + VR_TRACE_STEPS * 24 + VR_TRACE_HEAD,
	       "vr_trace_log is shared with Go");

/* Which live packets are recorded. */
struct vr_trace_filter {
	struct vr_addr host; /* source or destination, of the inner packet or the outer */
	uint32_t vif;	     /* 0 is any */
	uint32_t family;     /* of the host: 4, 6, or 0 for any */
};

#endif
