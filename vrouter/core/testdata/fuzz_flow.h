/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Flow mode in the fuzzer: any packet that is forwarded meets a port with a policy, and a table
 * that has its flow, has not, or is full. */
#ifndef FUZZ_FLOW_H
#define FUZZ_FLOW_H

#include "fuzz_bytes.h"

static enum vr_drop cross(const struct vr_frame *f, uint32_t offset, uint16_t direction,
			  uint8_t asked)
{
	static const struct vr_vif vif = {.vrf = 3};
	struct vr_flow_at at = {.vif = &vif,
				.policy = 1,
				.slot = 2,
				.direction = direction,
				.asked = asked,
				.bytes = f->length};

	return vr_flow_decide(f, offset, &at);
}

/* What was looked for as a packet crossed in a direction, and what became of that. */
static struct vr_flow_key looked_for(const struct vr_frame *f, uint32_t offset, uint16_t direction)
{
	enum vr_drop bad;

	memset(&flows.asked, 0, sizeof(flows.asked));
	bad = cross(f, offset, direction, VR_ASKED_FLOW);
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

/* What is no IP packet is no flow, and what a link needs crosses any port. */
static void check_asked(const struct shown *s, uint32_t offset, uint8_t asked)
{
	struct vr_frame f = {.data = s->data, .end = s->data + s->bytes, .length = s->length};

	if (asked == VR_ASKED_FLOW)
		return check_flow(s, offset);
	for (int i = 0; i < 2; i++) {
		memset(&flows.asked, 0, sizeof(flows.asked));
		flows.allowed = i;
		CHECK(!cross(&f, offset, VR_FLOW_IN, asked) == (i || asked == VR_ASKED_NOTHING));
		CHECK(!flows.asked.family);
	}
}

#endif
