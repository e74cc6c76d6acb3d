/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How vr_flow_table.h and vr_flow_cross.h reach the flows and policies that lie in the shared
 * memory. It is compiled twice: for packets (flows.c), and for traces, which change nothing
 * (trace.c). All cores share the table; what one needs for itself is its thread's own.
 */
#ifndef POLL_FLOW_TABLE_H
#define POLL_FLOW_TABLE_H

#include <time.h>

#include <rte_branch_prediction.h>

#include "image.h"

/* The agent only reads what is counted. */
VR_INLINE void poll_flow_add(uint64_t *sum, uint64_t more)
{
	if (poll_flows.alone)
		__atomic_store_n(sum, *sum + more, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(sum, more, __ATOMIC_RELAXED);
}
#define VR_FLOW_ADD poll_flow_add

#include "../core/vr_flow_cross.h"
#include "../core/vr_flow_table.h"

VR_INLINE struct vr_flow_head *vr_flow_head(void)
{
	return poll_flows.head;
}

VR_INLINE struct vr_flow_page *vr_flow_page(uint32_t page)
{
	return page < poll_flows.page_count ? &poll_flows.pages[page] : 0;
}

VR_INLINE uint64_t *vr_flow_used(uint32_t vrf)
{
	return vrf < VR_VRF_SLOTS ? &poll_flows.counts[vrf] : 0;
}

VR_INLINE uint32_t vr_flow_seek_choice(const struct vr_flow_key *key, uint32_t choice,
				       uint32_t except)
{
	return vr_flow_seek_in_table(key, choice, except);
}

VR_INLINE uint64_t vr_flow_claim(const struct vr_flow_key *key)
{
	return vr_flow_claim_in_table(key);
}

VR_INLINE void vr_flow_publish(const struct vr_flow_key *key, const struct vr_flow *fresh,
			       uint64_t place)
{
	vr_flow_publish_in_table(key, fresh, place);
}

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	return vr_flow_find_in_table(key);
}

VR_INLINE struct vr_flow_room *vr_flow_room(void)
{
	static _Thread_local struct vr_flow_room room;

	return &room;
}

/* The clock that the kernel mode has (bpf_ktime_get_coarse_ns), so that ages mean the same. It is
 * asked once a burst. */
VR_INLINE uint64_t vr_flow_clock(void)
{
	struct timespec now;

	if (likely(poll_flow_time))
		return poll_flow_time;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	poll_flow_time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return poll_flow_time;
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	return policy < VR_MAX_POLICIES &&
	       vr_policy_allows(&poll_flows.policies[policy], key, direction);
}

VR_INLINE int vr_flow_otherwise(uint32_t policy)
{
	return policy < VR_MAX_POLICIES && poll_flows.policies[policy].otherwise != 0;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	return vr_flow_make_within(key, fresh, vrf, vr_vrf_at(poll_flows.tables, vrf), VR_LIVE);
}

/* Whether a frame, behind whose Ethernet header so many bytes of a tunnel's still stand, may cross
 * a vif: VR_DROP_NONE, or why not. asked is of enum vr_asked. */
VR_INLINE uint32_t poll_flow_check(const struct vr_frame *f, uint32_t pop, uint32_t slot,
				   uint32_t direction, uint32_t asked)
{
	struct vr_flow_at at = {.vif = vr_vif_at(poll_flows.tables, slot),
				.slot = slot,
				.direction = (uint16_t)direction,
				.asked = (uint16_t)asked,
				.bytes = f->length - pop};

	if (!at.vif)
		return VR_DROP_unknown_vif;
	at.policy = VR_READ_ONCE(at.vif->policy);
	if (at.policy == 0)
		return VR_DROP_NONE; /* switched to packet mode a moment ago */
	return vr_flow_decide(f, VR_ETH_LEN + pop, &at);
}

#endif
