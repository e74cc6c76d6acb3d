/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Aggregation: segments of one TCP flow that come one behind the other, and go to a port that takes
 * aggregates, go as one. It happens in the queue of the port, behind decapsulation, so one way does
 * for every tunnel, and networks cannot meet; and the queue is sent at the end of each round, so
 * nothing waits. What may be joined is what the kernel joins (tcp_gro_receive), so that it can be
 * cut into the same packets again.
 *
 * rte_gro of DPDK 22.11 is not used: it sends a segment with PSH, and what has no payload, behind
 * those that came after it, joins what differs in its ECN field and so loses marks of congestion,
 * knows IPv4 only, and looks at no checksum, though the one of the aggregate is made anew: a
 * damaged segment would come out as a good one.
 */
#ifndef POLL_GRO_H
#define POLL_GRO_H

#include "layers.h"

/* What is known of a packet that waits, and may have others joined to it. */
struct poll_join {
	uint32_t flow; /* a hash of the TCP flow; 0: it is none from the fabric */
	uint32_t next; /* the sequence number that has to follow */
	struct rte_mbuf *last;
	uint16_t size;	/* payload of its segments */
	uint16_t count; /* of those that were joined to it */
	uint8_t open;	/* others may follow */
	uint8_t right;	/* its checksum was looked at, or nothing made it wrong yet */
	struct poll_layers layers;
};

/* Tells of a packet whose Ethernet header is its port's what is needed to join it. */
void poll_join_look(struct rte_mbuf *m, const struct poll_layers *l, struct poll_join *j);

/* Joins a packet to the last one of its flow among those that wait, if it can be: its number, or -1
 * if it has to wait by itself. */
int poll_join_to(struct rte_mbuf *const *mbufs, struct poll_join *joins, uint32_t count,
		 struct rte_mbuf *m, struct poll_join *j);

/* Makes one packet of those that were joined. */
void poll_join_end(struct rte_mbuf *m, struct poll_join *j);

#endif
