/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Whether a packet may cross a vif that is in flow mode. The mover has the table of flows and the
 * policies, and says how they are reached; a trace has VR_LIVE 0, and only looks.
 */
#ifndef VR_FLOW_CROSS_H
#define VR_FLOW_CROSS_H

#include "vr_flow.h"
#include "vr_trace.h"

#ifndef VR_LIVE
#define VR_LIVE 1
#endif

/* Room for what is made of a packet, for that the stack is too small. */
struct vr_flow_room {
	struct vr_flow fresh;
	struct vr_flow_packet packet;
};

/* The mover's: the record of a flow, or none; room that nobody else uses meanwhile; a new record,
 * or why there is no room for it; what the policy of a slot says of a flow, and of what is no IP;
 * and the time, in nanoseconds, to a tick. */
VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key);
VR_INLINE struct vr_flow_room *vr_flow_room(void);
VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf);
VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction);
VR_INLINE int vr_flow_otherwise(uint32_t policy);
VR_INLINE uint64_t vr_flow_clock(void);

/* A packet at a vif. */
struct vr_flow_at {
	const struct vr_vif *vif;
	uint32_t policy; /* the vif's when it was looked at: it may change any time */
	uint32_t slot;
	uint16_t direction;
	uint16_t asked; /* enum vr_asked */
	uint32_t bytes;
};

/* How a packet passed, for the tools. */
enum vr_flow_way {
	VR_FLOW_KNOWN,
	VR_FLOW_NEW,
	VR_FLOW_BY_DEFAULT,
	VR_FLOW_UNASKED,
};

/* A mover whose one thread is alone with the table has a cheaper one of its own. */
#ifndef VR_FLOW_ADD
#define VR_FLOW_ADD(sum, more) __sync_fetch_and_add(sum, more)
#endif

VR_INLINE void vr_flow_count(struct vr_flow *flow, const struct vr_flow_at *at)
{
	uint64_t *packets = at->direction == VR_FLOW_OUT ? &flow->packets[0] : &flow->packets[1];
	uint64_t *sum = at->direction == VR_FLOW_OUT ? &flow->bytes[0] : &flow->bytes[1];

	VR_FLOW_ADD(packets, 1);
	VR_FLOW_ADD(sum, at->bytes);
}

/* One more packet of a flow that is there. */
VR_INLINE void vr_flow_touch(struct vr_flow *flow, const struct vr_flow_packet *p,
			     const struct vr_flow_at *at)
{
	uint32_t marks = flow->marks;
	uint32_t add =
	    vr_flow_marks(marks, flow->opener == at->direction, p->key.protocol, p->flags);

	if (!VR_LIVE)
		return;
	flow->seen = vr_flow_clock();
	if (add & ~marks)
		__sync_fetch_and_or(&flow->marks, add);
	vr_flow_count(flow, at);
}

/* A connection that begins where another one is over takes its entry. */
VR_INLINE void vr_flow_renew(struct vr_flow *flow, const struct vr_flow_at *at)
{
	if (!VR_LIVE)
		return;
	flow->opener = (uint8_t)at->direction;
	flow->marks = 0;
	flow->seen = vr_flow_clock();
	vr_flow_count(flow, at);
}

/* An entry that begins with this packet. */
VR_INLINE enum vr_drop vr_flow_begin(const struct vr_flow_key *key, const struct vr_flow_at *at)
{
	int out = at->direction == VR_FLOW_OUT;
	struct vr_flow_room *room;
	struct vr_flow *fresh;

	if (!VR_LIVE)
		return vr_flow_make(key, 0, at->vif->vrf);
	room = vr_flow_room();
	if (!room)
		return VR_DROP_flow_table_full;
	fresh = &room->fresh;
	fresh->seen = vr_flow_clock();
	fresh->packets[0] = out;
	fresh->packets[1] = !out;
	fresh->bytes[0] = out ? at->bytes : 0;
	fresh->bytes[1] = out ? 0 : at->bytes;
	fresh->marks = 0;
	fresh->vrf = (uint16_t)at->vif->vrf;
	fresh->opener = (uint8_t)at->direction;
	fresh->steps = 0;
	return vr_flow_make(key, fresh, at->vif->vrf);
}

/* A packet with ports, or what stands for them. */
VR_INLINE enum vr_drop vr_flow_whole(const struct vr_flow_packet *p, const struct vr_flow_at *at)
{
	struct vr_flow *flow = vr_flow_find(&p->key);
	int again = flow && vr_flow_again(p->key.protocol, flow->marks, p->flags);

	if (flow && !again) {
		VR_STEP(flow, at->slot, VR_FLOW_KNOWN);
		vr_flow_touch(flow, p, at);
		return VR_DROP_NONE;
	}
	if (p->reply || !vr_flow_policy(at->policy, &p->key, at->direction))
		return VR_DROP_policy_denied;
	VR_STEP(flow, at->slot, VR_FLOW_NEW);
	if (!again)
		return vr_flow_begin(&p->key, at);
	vr_flow_renew(flow, at);
	return VR_DROP_NONE;
}

/* A fragment: one behind the first has passed if that one has; and if that one passes, those behind
 * it shall. Some senders repeat identifications soon, so there may be an entry already. */
VR_INLINE enum vr_drop vr_flow_piece(struct vr_flow_packet *p, const struct vr_flow_at *at)
{
	struct vr_flow *known;

	vr_flow_fragment(p, at->direction);
	known = vr_flow_find(&p->key);
	if (known) {
		if (p->later)
			VR_STEP(flow, at->slot, VR_FLOW_KNOWN);
		vr_flow_touch(known, p, at);
		return VR_DROP_NONE;
	}
	return p->later ? VR_DROP_fragment_unknown : vr_flow_begin(&p->key, at);
}

/*
 * An ICMP error belongs to the flow of the packet that it quotes, which went the other way: RFC
 * 5508, section 4, without its translation. It must be for, or from, the container that the quoted
 * packet was from, or for; and quote within its own bytes. It does not keep the flow alive, nor
 * ends it (section 4.3, REQ-6).
 */
VR_INLINE enum vr_drop vr_flow_error(const uint8_t *ip, const uint8_t *end, uint32_t bytes,
				     struct vr_flow_packet *p, const struct vr_flow_at *at)
{
	struct vr_addr local = p->key.local;
	uint32_t where = p->quote, back = at->direction == VR_FLOW_OUT ? VR_FLOW_IN : VR_FLOW_OUT;
	const uint8_t *quoted;

	if (p->first || where > VR_QUOTE_MAX || where > bytes)
		return VR_DROP_icmp_unrelated;
	quoted = ip + where;
	VR_OPAQUE(quoted);
	if (vr_flow_ip(quoted, end, back, bytes - where, p) || p->quote)
		return VR_DROP_icmp_unrelated;
	if (p->key.local.hi != local.hi || p->key.local.lo != local.lo)
		return VR_DROP_icmp_unrelated;
	if (p->later)
		vr_flow_fragment(p, back);
	if (!vr_flow_find(&p->key))
		return VR_DROP_icmp_unrelated;
	VR_STEP(flow, at->slot, VR_FLOW_KNOWN);
	return VR_DROP_NONE;
}

/* Whether a frame may cross that is none of a flow. */
VR_INLINE enum vr_drop vr_flow_no_ip(const struct vr_flow_at *at)
{
	if (at->asked == VR_ASKED_NOTHING) {
		VR_STEP(flow, at->slot, VR_FLOW_UNASKED);
		return VR_DROP_NONE;
	}
	if (!vr_flow_otherwise(at->policy))
		return VR_DROP_policy_denied;
	VR_STEP(flow, at->slot, VR_FLOW_BY_DEFAULT);
	return VR_DROP_NONE;
}

/* Whether a frame, or the IP packet at an offset of it, may cross, and what is known from then on.
 */
VR_INLINE enum vr_drop vr_flow_decide(const struct vr_frame *f, uint32_t offset,
				      const struct vr_flow_at *at)
{
	const uint8_t *ip = f->data + offset;
	struct vr_flow_room *room;
	struct vr_flow_packet *p;
	enum vr_drop bad;
	uint32_t bytes;

	if (at->asked != VR_ASKED_FLOW)
		return vr_flow_no_ip(at);
	if (ip + VR_IP4_LEN > f->end)
		return VR_DROP_truncated;
	bytes = vr_flow_bytes(ip, f->length - offset);
	room = vr_flow_room();
	if (!room)
		return VR_DROP_flow_table_full;
	p = &room->packet;
	*p = (struct vr_flow_packet){.key.vif = (uint16_t)at->slot};
	bad = vr_flow_ip(ip, f->end, at->direction, bytes, p);
	if (bad)
		return bad;
	if (p->later)
		return vr_flow_piece(p, at);
	if (p->quote)
		return vr_flow_error(ip, f->end, bytes, p, at);
	bad = vr_flow_whole(p, at);
	if (!bad && p->first)
		bad = vr_flow_piece(p, at);
	return bad;
}

#endif
