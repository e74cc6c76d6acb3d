/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Flow mode's mover on the host: a table of flows in plain memory, the policies of the tables'
 * memory, and no time. */
#ifndef HOST_FLOW_H
#define HOST_FLOW_H

#include <string.h>

#include "../vr_flow_cross.h"
#include "host_flow_table.h"

static const struct vr_policy *host_policies;

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	return vr_flow_find_in_table(key);
}

VR_INLINE struct vr_flow_room *vr_flow_room(void)
{
	static struct vr_flow_room room;

	return &room;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	return vr_flow_make_in_table(key, fresh, vrf, 0);
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	return policy < VR_MAX_POLICIES && vr_policy_allows(&host_policies[policy], key, direction);
}

VR_INLINE int vr_flow_otherwise(uint32_t policy)
{
	return policy < VR_MAX_POLICIES && host_policies[policy].otherwise != 0;
}

VR_INLINE uint64_t vr_flow_clock(void)
{
	return 1;
}

#endif
