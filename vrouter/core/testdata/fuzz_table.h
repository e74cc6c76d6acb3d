/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Flow mode's mover in the fuzzer: a table that has any flow, or none, or is full, and a policy
 * that says what the fuzzer wants. */
#ifndef FUZZ_TABLE_H
#define FUZZ_TABLE_H

#include <assert.h>
#include <string.h>

#include "../vr_flow_cross.h"

static struct {
	struct vr_flow_key asked; /* what was looked for last */
	struct vr_flow flow;
	int known, allowed, full;
} flows;
static const struct vr_policy *host_policies;

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	flows.asked = *key;
	return flows.known ? &flows.flow : NULL;
}

VR_INLINE struct vr_flow_room *vr_flow_room(void)
{
	static struct vr_flow_room room;

	return &room;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	assert(memcmp(key, &flows.asked, sizeof(*key)) == 0 && fresh->vrf == (uint16_t)vrf);
	return flows.full ? VR_DROP_flow_table_full : VR_DROP_NONE;
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	(void)policy;
	(void)key;
	assert(direction <= VR_FLOW_IN);
	return flows.allowed;
}

VR_INLINE int vr_flow_otherwise(uint32_t policy)
{
	(void)policy;
	return flows.allowed;
}

VR_INLINE uint64_t vr_flow_clock(void)
{
	return 1;
}

#endif
