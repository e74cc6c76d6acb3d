/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is done to a bridged frame at tc, and the copies of what is for all of a network. Every copy
 * has its own fate, in an account of its own (vr_types.h); the last one is the packet itself, so
 * that a frame for one other costs no copy.
 */
#ifndef VR_BRIDGE_TC_H
#define VR_BRIDGE_TC_H

#include "vr_count.h"
#include "vr_flow_tc.h"
#include "vr_rewrite.h"
#include "../core/vr_build_bridge.h"

/* The Ethernet header so far into the packet. */
VR_INLINE int vr_eth_at(struct __sk_buff *skb, uint32_t offset, struct vr_eth *eth)
{
	const uint8_t *at = VR_SKB_POINTER(skb, data) + offset;

	if (at + VR_ETH_LEN > VR_SKB_POINTER(skb, data_end))
		return -1;
	vr_read_eth(at, eth);
	return 0;
}

/* As vr_do_decap, of a frame that keeps its own Ethernet header. What is not IP goes for IPv4, of
 * which the kernel wants no more than 20 bytes to be left: VR_FRAME_LEAST. Global, to have a stack
 * of its own: the arguments are the verdict's. */
__attribute__((noinline)) int vr_frame_pop(struct __sk_buff *skb, uint32_t pop, uint32_t outer,
					   uint32_t version, uint32_t tos)
{
	struct vr_eth eth;
	uint8_t *head;

	if (pop > VR_TEMPLATE_LEN)
		return -1;
	if (skb->len < pop + VR_FRAME_LEAST && bpf_skb_change_tail(skb, pop + VR_FRAME_LEAST, 0))
		return -1;
	if (vr_eth_at(skb, pop, &eth) || vr_strip(skb, pop, outer, version == 6))
		return -1;
	head = vr_head(skb, VR_ETH_LEN + VR_IP4_LEN);
	if (!head)
		return -1;
	vr_build_own_eth(head, &eth);
	if (version)
		vr_build_tos(head + VR_ETH_LEN, (uint8_t)tos, (uint8_t)version);
	return 0;
}

/* A flooding under way. */
struct vr_flooding {
	struct vr_push push;
	struct vr_eth eth;
	struct vr_seen seen;
	uint32_t longest; /* that must fit */
	uint32_t offset;  /* of what the frame holds, behind its Ethernet header */
	uint32_t asked;	  /* enum vr_asked: of the ports' policies */
	uint32_t vif;	  /* that the frame came from, 0 for the fabric */
	uint32_t ready;	  /* the interface that the packet, as it is now, is for; 0: none */
	uint32_t to;	  /* the vif of that, 0 for the fabric */
	uint32_t copies;  /* that left */
	uint32_t drop;	  /* what became of the last that did not */
	uint32_t wrapped; /* the push of the nexthop whose headers it has; 0: none */
	uint32_t udp;	  /* others of its copies have UDP */
	uint8_t fates[VR_FLOOD_TARGETS];
};

/* What becomes of a target's copy: it goes, or a drop reason, or this: it is none of the frame's.
 */
#define VR_FATE_NONE 255
_Static_assert(VR_DROP_COUNT < VR_FATE_NONE, "a fate is a drop reason, too");

/* One a CPU, as a program and all that it calls have 512 bytes of stack. No program runs while
 * another one is under way on its CPU: what bpf_clone_redirect sends is received later. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_flooding);
} vr_floodings SEC(".maps");

/*
 * What the kernel is told of a frame that gets its first tunnel's headers. Where copies of it have
 * other ones, those of an aggregate cannot say so any more: the mark stays what it was
 * (SKB_GSO_UDP_TUNNEL, SKB_GSO_GRE). UDP is cut behind its own mark only (udp4_ufo_fragment in
 * net/ipv4/udp_offload.c), GRE behind any (gre_gso_segment in net/ipv4/gre_offload.c).
 */
VR_INLINE uint64_t vr_frame_flags(const struct vr_flooding *g, enum vr_encapsulation kind)
{
	return g->udp ? vr_push_flags(VR_VXLAN) : vr_push_flags(kind);
}

/* Other room than there is, before what is not IP: only more of it. */
VR_INLINE int vr_frame_resize(struct __sk_buff *skb, int by, uint8_t version)
{
	if (by == 0)
		return 0;
	if (version)
		return (int)bpf_skb_adjust_room(skb, by, BPF_ADJ_ROOM_MAC,
						BPF_F_ADJ_ROOM_FIXED_GSO);
	return by > 0 ? (int)bpf_skb_change_head(skb, (uint32_t)by, 0) : -1;
}

/*
 * Room for an outer IP header of so many bytes and the rest of the tunnel's, and the frame's own
 * Ethernet header behind them: all of these are to be written. Of an IP packet it is made as for a
 * routed one, so that an aggregate can be cut. bpf_skb_adjust_room takes nothing else
 * (net/core/filter.c), and what is not IP is no aggregate: for that, room in front of the frame
 * does. The kernel then still takes the packet for what it was; it leaves by a device all the same,
 * and whoever receives it reads its own header. Where there are a tunnel's headers already, others
 * take their place.
 */
VR_INLINE uint8_t *vr_frame_room(struct __sk_buff *skb, const struct vr_flooding *g, uint32_t ip,
				 enum vr_encapsulation kind)
{
	const uint32_t bytes = ip + vr_wrap_length(kind);

	if (!g->wrapped && g->push.version)
		return vr_room(skb, ip, kind, vr_frame_flags(g, kind));
	if (vr_frame_resize(skb, (int)bytes - (int)g->wrapped, g->push.version))
		return 0;
	return vr_head(skb, VR_ETH_LEN + bytes);
}

VR_INLINE int vr_frame_wrap(struct __sk_buff *skb, struct vr_flooding *g, const struct vr_nh *nh,
			    uint32_t ip, enum vr_encapsulation kind)
{
	uint8_t *head = vr_frame_room(skb, g, ip, kind);

	if (!head)
		return -1;
	vr_build_frame(head, nh, &g->push, &g->eth, ip, kind);
	vr_spread(skb, g->push.sport);
	g->wrapped = ip + vr_wrap_length(kind);
	return 0;
}

/* The headers of a nexthop's tunnel before a frame. Global, to have a stack of its own. */
__attribute__((noinline)) int vr_frame_push(struct __sk_buff *skb, struct vr_flooding *g,
					    uint32_t nexthop)
{
	const struct vr_nh *nh = vr_nh_at(0, nexthop);

	if (!g || !nh || nh->type != VR_NH_TUNNEL)
		return -1;
#define VR_WRAP(ip, kind) vr_frame_wrap(skb, g, nh, ip, kind)
	return VR_BY_FRAME_TUNNEL(nh, VR_WRAP);
#undef VR_WRAP
}

VR_INLINE void vr_copy_left(const struct vr_flooding *g, struct vr_totals *total)
{
	uint32_t vif = g->to;
	struct vr_vif_count *c = vif ? bpf_map_lookup_elem(&vr_vif_counts, &vif) : 0;

	vr_add(&total->copies, &g->seen);
	if (c)
		vr_add(&c->tx, &g->seen);
}

VR_INLINE void vr_copy_lost(struct vr_flooding *g, struct vr_totals *total, uint32_t reason,
			    uint32_t vif)
{
	g->drop = reason;
	if (reason >= VR_DROP_COUNT)
		return;
	vr_add(&total->copy_drops[reason], &g->seen);
	if (vif)
		vr_lose_at(vif, &g->seen, reason, 0);
}

/* Sends a copy of the packet as it is, because it is about to become another one. */
VR_INLINE void vr_copy_send(struct __sk_buff *skb, struct vr_flooding *g, struct vr_totals *total)
{
	if (!g->ready)
		return;
	if (VR_LIVE && bpf_clone_redirect(skb, g->ready, 0)) {
		vr_copy_lost(g, total, VR_DROP_copy_failed, g->to);
	} else {
		g->copies++;
		vr_copy_left(g, total);
	}
	g->ready = 0;
}

/* What becomes of a copy for one target, before anything is changed. A port's policy has the last
 * word. */
VR_INLINE uint32_t vr_copy_fate(struct __sk_buff *skb, const struct vr_flooding *g, uint64_t route)
{
	const struct vr_nh *nh = vr_nh_at(0, VR_ROUTE_REF(route));
	enum vr_drop fails;

	if (!nh || !vr_copy_goes(nh, g->vif, g->vif == 0))
		return VR_FATE_NONE;
	fails = vr_copy_fails(nh, g->longest);
	return fails ? fails : (uint32_t)vr_flow_enter(skb, g->offset, nh, g->asked);
}

/* What becomes of the copies for a list. All are decided before one is made, because a decision
 * about a flow and the making of a copy, one within the other, take more stack than there is. */
__attribute__((noinline)) int vr_fates(struct __sk_buff *skb, struct vr_flooding *g, uint32_t list)
{
	const struct vr_flood *l = vr_flood_at(0, list);

	if (!g || !l)
		return 0;
#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOOD_TARGETS; i++) {
		if (i >= l->count)
			break;
		g->fates[i] = (uint8_t)vr_copy_fate(skb, g, l->targets[i]);
	}
	return 0;
}

/* A copy for one target, of which its fate is known. Global, so that the verifier looks at it once
 * and not once a target. */
__attribute__((noinline)) int vr_copy_to(struct __sk_buff *skb, struct vr_flooding *g,
					 uint64_t route, uint32_t fate)
{
	const struct vr_nh *nh = vr_nh_at(0, VR_ROUTE_REF(route));
	struct vr_totals *total = vr_account();

	if (!g || !nh || !total || fate == VR_FATE_NONE)
		return 0;
	VR_STEP(copy, route, fate);
	if (fate) {
		vr_copy_lost(g, total, fate, nh->vif);
		return 0;
	}
	vr_copy_send(skb, g, total);
	if (nh->type == VR_NH_TUNNEL) {
		g->push.label = VR_ROUTE_LABEL(route);
		if (vr_frame_push(skb, g, VR_ROUTE_REF(route))) {
			vr_copy_lost(g, total, VR_DROP_rewrite_failed, 0);
			return -1;
		}
	}
	g->ready = nh->ifindex;
	g->to = nh->flags & VR_NH_FABRIC ? 0 : nh->vif;
	return 0;
}

/* Sends a copy to each target of a list but the last, for which the packet itself is made ready. */
__attribute__((noinline)) int vr_copies(struct __sk_buff *skb, struct vr_flooding *g, uint32_t list)
{
	const struct vr_flood *l = vr_flood_at(0, list);

	if (!g || !l)
		return 0;
	g->udp = l->udp;
#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOOD_TARGETS; i++)
		if (i >= l->count || vr_copy_to(skb, g, l->targets[i], g->fates[i]))
			break;
	return 0;
}

/* What has to be known of a frame from a vif, or from the fabric (0), whose tunnel's headers are
 * off. */
VR_INLINE struct vr_flooding *vr_flooding_of(struct __sk_buff *skb, const struct vr_seen *seen,
					     const struct vr_verdict *v, uint32_t vif)
{
	uint32_t zero = 0;
	struct vr_flooding *g = bpf_map_lookup_elem(&vr_floodings, &zero);

	if (!g || vr_eth_at(skb, 0, &g->eth))
		return 0;
	if (vif)
		g->push = v->push; /* what the fabric brought goes into no tunnel */
	g->longest = v->longest;
	g->offset = VR_ETH_LEN;
	g->asked = v->asked;
	g->seen = *seen;
	g->vif = vif;
	g->ready = 0;
	g->to = 0;
	g->copies = 0;
	g->drop = VR_DROP_flood_nobody;
	g->wrapped = 0;
	g->udp = 0;
	return g;
}

VR_INLINE int vr_do_frame_tunnel(struct __sk_buff *skb, const struct vr_seen *seen,
				 const struct vr_verdict *v, uint32_t vif)
{
	struct vr_flooding *g = vr_flooding_of(skb, seen, v, vif);

	return g ? vr_frame_push(skb, g, v->nexthop) : -1;
}

/* Makes copies for all of a list, the packet itself the last one; without any, there is none. */
VR_INLINE const struct vr_flooding *vr_flood_all(struct __sk_buff *skb, struct vr_totals *total,
						 const struct vr_seen *seen,
						 const struct vr_verdict *v, uint32_t vif)
{
	struct vr_flooding *g = vr_flooding_of(skb, seen, v, vif);
	uint32_t list;

	if (!g)
		return 0;
	list = v->vrf ? VR_READ_ONCE(v->vrf->flood) : 0;
	vr_add(&total->flooded, seen);
	vr_fates(skb, g, list);
	vr_copies(skb, g, list);
	if (g->ready) {
		vr_copy_left(g, total);
		g->copies++;
	}
	return g;
}

#endif
