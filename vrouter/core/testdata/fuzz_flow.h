/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Flow mode in the fuzzer: any packet that is forwarded meets a port with a policy, and a table
 * that has its flow, has not, or is full. */
#ifndef FUZZ_FLOW_H
#define FUZZ_FLOW_H

#include "fuzz_bytes.h"
#include "../vr_flow_cross.h"

static struct {
	struct vr_flow_key asked; /* what was looked for last */
	struct vr_flow flow;
	int known, allowed, full;
} flows;

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	flows.asked = *key;
	return flows.known ? &flows.flow : NULL;
}

VR_INLINE struct vr_flow *vr_flow_draft(void)
{
	static struct vr_flow draft;

	return &draft;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	CHECK(memcmp(key, &flows.asked, sizeof(*key)) == 0 && fresh->vrf == vrf);
	return flows.full ? VR_DROP_flow_table_full : VR_DROP_NONE;
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	(void)key;
	CHECK(policy == 1 && direction <= VR_FLOW_IN);
	return flows.allowed;
}

VR_INLINE uint64_t vr_flow_clock(void)
{
	return 1;
}

static enum vr_drop cross(const struct vr_frame *f, uint32_t offset, uint32_t direction)
{
	static const struct vr_vif vif = {.vrf = 3};
	struct vr_flow_at at = {
	    .vif = &vif, .policy = 1, .slot = 2, .direction = direction, .bytes = f->length};

	return vr_flow_decide(f, offset, &at);
}

/* What was looked for as a packet crossed in a direction, and what became of that. */
static struct vr_flow_key looked_for(const struct vr_frame *f, uint32_t offset, uint32_t direction)
{
	enum vr_drop bad;

	memset(&flows.asked, 0, sizeof(flows.asked));
	bad = cross(f, offset, direction);
	CHECK(bad < VR_DROP_COUNT && (flows.known || flows.allowed || bad));
	return flows.asked;
}

/* What begins no flow is lost by a name, and both directions have one key. Fragments have one each,
 * and of an error only one direction may have what it is about. */
static void check_flow(const struct shown *s, uint32_t offset)
{
	uint8_t *exact = malloc(s->bytes ? s->bytes : 1);
	struct vr_frame f = {.data = exact, .end = exact + s->bytes, .length = s->length};

	memcpy(exact, s->data, s->bytes);
	for (int i = 0; i < 8; i++) {
		struct vr_flow_key out, in;

		flows.known = i & 1;
		flows.allowed = i >> 1 & 1;
		flows.full = i >> 2 & 1;
		out = looked_for(&f, offset, VR_FLOW_OUT);
		in = looked_for(&f, offset, VR_FLOW_IN);
		if ((out.family | in.family) & VR_FAMILY_FRAGMENT || !out.family || !in.family)
			continue;
		CHECK(out.local.hi == in.remote.hi && out.local.lo == in.remote.lo);
		CHECK(out.local_port == in.remote_port && out.remote_port == in.local_port);
		CHECK(out.family == in.family && out.protocol == in.protocol);
	}
	free(exact);
}

#endif
