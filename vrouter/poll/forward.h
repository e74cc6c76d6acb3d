/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What becomes of a burst of packets, from its reception to the queues of the ports it leaves by.
 */
#ifndef POLL_FORWARD_H
#define POLL_FORWARD_H

#include <rte_cycles.h>

#include "image.h"
#include "ports.h"

/* What a core works with. Nothing of it is another core's. */
struct poll_core {
	const struct poll_ports *ports; /* of this round */
	const struct vr_tables *tables;
	struct poll_account *account;
	uint32_t index;
	uint32_t waits; /* ports at which something waits to be sent */
	uint32_t timed; /* this round's stages are */
	uint32_t hands; /* over what it reads where others have no queue (hand.h) */
	uint64_t full;	/* rounds that found packets */
	uint64_t clock; /* what it takes to read the time */
	uint64_t then;	/* when the stage before ended */
	uint64_t stages[POLL_STAGES];
	struct poll_port *waiting[POLL_PORTS];
};

/* Ends a stage. Where no round is timed, that is a branch; a timed one is a little slower by it. */
VR_INLINE void poll_stage(struct poll_core *c, enum poll_stage_number stage)
{
	uint64_t now;

	if (likely(!c->timed))
		return;
	now = rte_rdtsc();
	c->stages[stage] += now - c->then - RTE_MIN(c->clock, now - c->then);
	c->then = now;
}

/* Of packets that came to one vif. */
void poll_forward(struct poll_core *c, uint32_t vif, struct rte_mbuf **mbufs, uint16_t count);

/* Sends what waits at a port: send.c. */
void poll_flush(struct poll_core *c, struct poll_port *port);

/* Sends what waits anywhere. */
void poll_flush_all(struct poll_core *c);

/* Puts a packet into the queue of the port that its fate names. What came from the fabric may be
 * joined to what waits there. */
void poll_enqueue(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *fate,
		  const struct poll_layers *l);

/* Puts an answer into the queue of the port that it is for. */
void poll_answer(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *fate);

/* Sends a packet at once, behind what waits at its port: 0 if the device took it. */
int poll_send_now(struct poll_core *c, struct rte_mbuf *m, uint32_t vif);

/* A frame for all of its network: flood.c. */
void poll_flood(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
		const struct vr_verdict *v, const struct poll_layers *l);

#endif
