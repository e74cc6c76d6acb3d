/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is counted of a packet, in all and by port: on its way in, on its way out, or lost, with the
 * reason. Programs that trace count nothing.
 */
#ifndef VR_COUNT_H
#define VR_COUNT_H

#include <linux/pkt_cls.h>

#include "../core/vr_trace.h"
#include "vr_maps.h"

/* What a hook received, so that it is counted alike on its way in and on its way out. */
struct vr_seen {
	uint32_t segments;
	uint32_t bytes;
};

#ifdef VR_TRACING
#define VR_LIVE 0 /* a trace changes no counter and sends nothing */
#else
#define VR_LIVE 1
#endif

VR_INLINE void vr_add(struct vr_count *c, const struct vr_seen *s)
{
	if (!VR_LIVE)
		return;
	c->packets++;
	c->segments += s->segments;
	c->bytes += s->bytes;
}

VR_INLINE struct vr_totals *vr_account(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_total, &zero);
}

/* A packet made by an untrusted sender may have no segment count, only the size of one. */
VR_INLINE struct vr_seen vr_see(const struct __sk_buff *skb)
{
	struct vr_seen s = {.segments = skb->gso_segs, .bytes = skb->len};

	if (s.segments == 0 && skb->gso_size)
		s.segments = (skb->len + skb->gso_size - 1) / skb->gso_size;
	if (s.segments == 0)
		s.segments = 1;
	return s;
}

/* Counts a packet as lost while it was being rewritten. */
VR_INLINE int vr_lose(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason)
{
	VR_OPAQUE(reason); /* the verifier wants one register for the check and for the place */
	VR_STEP(loss, reason, 0);
	if (reason < VR_DROP_COUNT)
		vr_add(&total->drops[reason], seen);
	return TC_ACT_SHOT;
}

/* It is a port's loss. */
VR_INLINE void vr_lose_at(uint32_t vif, const struct vr_seen *seen, uint32_t reason, int from)
{
	struct vr_vif_drops *d = bpf_map_lookup_elem(&vr_vif_losses, &vif);
	struct vr_count *c;

	VR_OPAQUE(reason);
	if (VR_LIVE && d && reason < VR_DROP_COUNT) {
		c = from ? &d->from[reason] : &d->to[reason];
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->segments, seen->segments);
		__sync_fetch_and_add(&c->bytes, seen->bytes);
	}
}

/* As vr_lose, and it is a port's loss. */
VR_INLINE int vr_lose_of(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason,
			 uint32_t vif, int from)
{
	vr_lose_at(vif, seen, reason, from);
	return vr_lose(total, seen, reason);
}

/* Lost on its way from the fabric: a port's loss if it was known whose packet it was. */
VR_INLINE int vr_lose_to(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason,
			 const struct vr_nh *nh)
{
	if (nh && nh->vif)
		return vr_lose_of(total, seen, reason, nh->vif, 0);
	return vr_lose(total, seen, reason);
}

#endif
