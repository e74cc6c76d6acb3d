/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What becomes of packets, step by step (vr_trace.h), for the tools: of a frame that is only tried,
 * and of live ones while somebody watches. Both decide by a copy of the decision that records its
 * steps, and change nothing: so forwarding has none of it but one look at a flag, once a burst.
 */
#ifndef POLL_TRACE_H
#define POLL_TRACE_H

#include <rte_mbuf.h>

#include "../core/vr_trace.h"
#include "ports.h"

#define POLL_TRACED 4096 /* the longest frame that is tried, and what it may grow by */
#define POLL_WATCHED 64	 /* packets that wait for the agent; more than these are not shown */

/* Memory that is shared with the agent (trace.go). */
struct poll_tracing {
	uint32_t watching; /* the agent's: whether somebody does */
	uint32_t reserved;
	struct vr_trace_filter filter;
	uint64_t written; /* packets, by cores */
	uint64_t read;	  /* of these, by the agent */
	/* A trial: the agent writes the frame, and what would leave takes its place. */
	uint32_t length;
	uint32_t left; /* bytes that would leave; 0: nothing would */
	uint8_t frame[POLL_TRACED];
	struct vr_trace_log trial;
	struct vr_trace_log watched[POLL_WATCHED];
};
_Static_assert(POLL_TRACED >= POLL_FRAME + VR_TEMPLATE_LEN, "what grows must have room");

extern struct poll_tracing *poll_tracing;

/* Whether somebody watches. */
VR_INLINE int poll_is_watched(void)
{
	return __atomic_load_n(&poll_tracing->watching, __ATOMIC_ACQUIRE) != 0;
}

/* Shows a packet that a port received (or the fabric), before it is forwarded. */
void poll_watch(const struct rte_mbuf *m, uint32_t vif);

/* Tries the frame, as if a vif had received it (or the fabric): NULL, or what went wrong. */
const char *poll_try(uint32_t vif);

#endif
