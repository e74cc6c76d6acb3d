/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow mode: packets are checked where they enter from a vif that has a policy, and where they are
 * delivered to one. Each says why a packet is lost, or VR_DROP_NONE. Packets of other vifs cost a
 * look at a record that they need anyway.
 */
#ifndef POLL_FLOWS_H
#define POLL_FLOWS_H

#include "image.h"

/* Of a frame, behind whose Ethernet header so many bytes of a tunnel's still stand. */
uint32_t poll_flow_cross(const struct vr_frame *f, uint32_t pop, uint32_t slot, uint32_t direction,
			 uint32_t asked);

/* Has what a packet from a vif will be looked for by on its way from memory: of a frame that holds
 * a whole IPv4 header. */
void poll_flow_ahead(const struct vr_frame *f, uint32_t slot);

/* A packet that a nexthop delivers. */
VR_INLINE uint32_t poll_flow_enter(const struct vr_frame *f, uint32_t pop, const struct vr_nh *nh,
				   uint32_t asked)
{
	return nh->flags & VR_NH_FLOW ? poll_flow_cross(f, pop, nh->vif, VR_FLOW_IN, asked)
				      : VR_DROP_NONE;
}

/* A packet from a vif, and to another one if that is where it goes. Of one that is for all, each
 * copy is asked for by itself. */
VR_INLINE uint32_t poll_flow_leave(const struct vr_frame *f, const struct vr_vif *vif,
				   uint32_t slot, const struct vr_verdict *v)
{
	uint32_t lost = VR_DROP_NONE;

	if (v->op != VR_OP_FLOOD && !vr_is_forwarded(v->op))
		return VR_DROP_NONE;
	if (VR_READ_ONCE(vif->policy))
		lost = poll_flow_cross(f, 0, slot, VR_FLOW_OUT, v->asked);
	return lost || v->op == VR_OP_FLOOD ? lost : poll_flow_enter(f, 0, v->nh, v->asked);
}

#endif
