/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The way out: whole where the port takes what is unfinished about a packet, else finished, or cut.
 */
#ifndef POLL_LEAVE_H
#define POLL_LEAVE_H

#include "forward.h"
#include "layers.h"

/* Whether a packet leaves as one. A tunnel's headers say a length, so each packet has its own. */
int poll_is_whole(const struct poll_port *p, const struct poll_layers *l, int tunnel);

/* Whether it takes aggregates of TCP over one family. */
int poll_joins_at(const struct poll_port *p, uint8_t version);

/* Says what is left to the port, in DPDK's flags of packets to send, or finishes it. The headers
 * are on, so many bytes of them since it was looked at; fewer, if it is below 0. A tunnel's, if
 * they are one's: their own checksum covers all behind it, which is finished then. */
void poll_hand_over(struct rte_mbuf *m, const struct poll_port *p, const struct poll_layers *l,
		    int grown, const struct vr_nh *tunnel);

/* Where a verdict sends a packet: a vif, or POLL_FABRIC. */
VR_INLINE uint32_t poll_way_out(const struct vr_verdict *v)
{
	return v->nh->flags & VR_NH_FABRIC || v->nh->type == VR_NH_TUNNEL ? POLL_FABRIC
									  : v->nh->vif;
}

/* Moves a packet and puts it into its port's queue. */
void poll_leave(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
		const struct vr_vif *vif, const struct vr_verdict *v, const struct poll_layers *l);

/* The same of a packet of a vif's that is finished (poll_is_finished): most are. */
void poll_leave_finished(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
			 const struct vr_vif *vif, const struct vr_verdict *v);

#endif
