//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "flows.h"

#include <rte_prefetch.h>

#include "flow_table.h"

uint32_t poll_flow_cross(const struct vr_frame *f, uint32_t pop, uint32_t slot, uint32_t direction,
			 uint32_t asked)
{
	return poll_flow_check(f, pop, slot, direction, asked);
}

void poll_flow_ahead(const struct vr_frame *f, uint32_t slot)
{
	const struct vr_flow_head *head = vr_flow_head();
	struct vr_flow_packet p = {.key.vif = (uint16_t)slot};
	const struct vr_flow_entry *home;
	uint64_t hash;

	if (!head->pages ||
	    vr_flow_ip(f->data + VR_ETH_LEN, f->end, VR_FLOW_OUT, f->length - VR_ETH_LEN, &p))
		return;
	hash = vr_flow_mix(head, &p.key);
	home = vr_flow_at_number(vr_flow_number(hash, head->pages) * VR_FLOW_SLOTS +
				 hash % VR_FLOW_SLOTS);
	if (!home)
		return;
	rte_prefetch0(home);
	rte_prefetch0(&home->flow.packets); /* in the line behind */
}
