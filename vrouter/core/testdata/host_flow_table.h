/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The table of flows in the host's memory. */
#ifndef HOST_FLOW_TABLE_H
#define HOST_FLOW_TABLE_H

#include "../vr_flow_table.h"

#ifndef HOST_FLOW_PAGES
#define HOST_FLOW_PAGES 16
#define HOST_FLOW_LIMIT 256
#endif

/* What happens before whoever looked for a flow goes on. */
#ifndef HOST_FLOW_SOUGHT
#define HOST_FLOW_SOUGHT()
#endif

static struct vr_flow_page host_flow_pages[1 + HOST_FLOW_PAGES] __attribute__((aligned(4096)));
static struct vr_flow_head host_flow_head = {.secret = {0x243f6a8885a308d3, 0x13198a2e03707344,
							0xa4093822299f31d0, 0x082efa98ec4e6c89,
							0x452821e638d01377},
					     .pages = HOST_FLOW_PAGES,
					     .limit = HOST_FLOW_LIMIT};
static uint64_t host_flow_used[VR_VRF_SLOTS];

VR_INLINE struct vr_flow_head *vr_flow_head(void)
{
	return &host_flow_head;
}

VR_INLINE struct vr_flow_page *vr_flow_page(uint32_t page)
{
	return page <= HOST_FLOW_PAGES ? &host_flow_pages[page] : 0;
}

VR_INLINE uint64_t *vr_flow_used(uint32_t vrf)
{
	return vrf < VR_VRF_SLOTS ? &host_flow_used[vrf] : 0;
}

VR_INLINE uint32_t vr_flow_seek_choice(const struct vr_flow_key *key, uint32_t choice,
				       uint32_t except)
{
	uint32_t number = vr_flow_seek_in_table(key, choice, except);

	HOST_FLOW_SOUGHT();
	return number;
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

#endif
