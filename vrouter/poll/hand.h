/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Handing over: what one core reads at a port that has fewer queues than there are cores, all cores
 * forward. Off by default, because a packet that changes its core costs more than one that stays.
 *
 * Between any two cores there is a ring that one of them writes and the other one reads. A flow
 * goes by one ring only, so its packets keep their order, but for fragments, which go by addresses
 * alone. A core reads no more than any ring has room for: the rest waits at its port, and none is
 * lost here.
 */
#ifndef POLL_HAND_H
#define POLL_HAND_H

#include "forward.h"

/* Makes the rings: 0, or -1 if there is no memory. Without, nothing is handed over. */
int poll_hand_begin(uint32_t cores);

int poll_hands(void);

/* How many packets of a port's queue the core may read now. */
uint16_t poll_hand_room(const struct poll_core *c, const struct poll_port *port);

/* Hands what is others' to them; how many are left, in front, for the core itself. */
uint16_t poll_hand_out(struct poll_core *c, const struct poll_port *port, struct rte_mbuf **mbufs,
		       uint16_t count);

/* Forwards what others had handed over when it was called; how many. */
uint32_t poll_hand_take(struct poll_core *c);

#endif
