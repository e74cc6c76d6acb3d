/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is done to a bridged frame at tc, and the copies of what is for all of a network. Every copy
 * has its own fate, in an account of its own (vr_types.h); the last one is the packet itself, so
 * that a frame for one other costs no copy.
 */
#ifndef VR_BRIDGE_TC_H
#define VR_BRIDGE_TC_H

#include "vr_count.h"
#include "vr_rewrite.h"
#include "../core/vr_build_bridge.h"

/*
 * Room for an outer IP header of so many bytes and the rest of the tunnel's, and the frame's own
 * Ethernet header behind them: all of these are to be written. Of an IP packet it is made as for a
 * routed one, so that an aggregate can be cut. bpf_skb_adjust_room takes nothing else
 * (net/core/filter.c), and what is not IP is no aggregate: for that, room in front of the frame
 * does. The kernel then still takes the packet for what it was; it leaves by a device all the same,
 * and whoever receives it reads its own header.
 */
VR_INLINE uint8_t *vr_bridge_room(struct __sk_buff *skb, uint32_t ip, uint8_t version, int again)
{
	if (!again && version)
		return vr_room(skb, ip, VR_VXLAN_ALL_LEN, VR_VXLAN_FLAGS);
	if (!again && bpf_skb_change_head(skb, ip + VR_VXLAN_ALL_LEN, 0))
		return 0;
	return vr_head(skb, VR_ETH_LEN + ip + VR_VXLAN_ALL_LEN);
}

VR_INLINE int vr_do_bridge_tunnel6(struct __sk_buff *skb, const struct vr_nh *nh,
				   const struct vr_push *push, const struct vr_eth *eth, int again)
{
	uint8_t *head = vr_bridge_room(skb, VR_IP6_LEN, push->version, again);

	if (!head)
		return -1;
	vr_build_bridge_vxlan6(head, nh, push, eth);
	return 0;
}

/* The tunnel's headers before a frame, which has others of that length already if it is done again.
 */
VR_INLINE int vr_do_bridge_tunnel(struct __sk_buff *skb, const struct vr_nh *nh,
				  const struct vr_push *push, const struct vr_eth *eth, int again)
{
	uint8_t *head;

	if (nh->encapsulation != VR_VXLAN)
		return -1;
	if (nh->outer == VR_IP6_LEN)
		return vr_do_bridge_tunnel6(skb, nh, push, eth, again);
	head = vr_bridge_room(skb, VR_IP4_LEN, push->version, again);
	if (!head)
		return -1;
	vr_build_bridge_vxlan(head, nh, push, eth);
	return 0;
}

/* The Ethernet header so far into the packet. */
VR_INLINE int vr_eth_at(struct __sk_buff *skb, uint8_t offset, struct vr_eth *eth)
{
	const uint8_t *at = VR_SKB_POINTER(skb, data) + offset;

	if (at + VR_ETH_LEN > VR_SKB_POINTER(skb, data_end))
		return -1;
	vr_read_eth(at, eth);
	return 0;
}

/* As vr_do_decap, of a frame that keeps its own Ethernet header. What is not IP goes for IPv4, of
 * which the kernel wants no more than 20 bytes to be left. */
VR_INLINE int vr_do_bridge_decap(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint64_t flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	struct vr_eth eth;
	uint8_t *head;

	if (vr_eth_at(skb, v->pop, &eth))
		return -1;
	if (v->version == 6 && v->outer == VR_IP4_LEN)
		flags |= VR_DECAP_L3_IPV6;
	else if (v->version != 6 && v->outer == VR_IP6_LEN)
		flags |= VR_DECAP_L3_IPV4;
	if (bpf_skb_adjust_room(skb, -(int)v->pop, BPF_ADJ_ROOM_MAC, flags))
		return -1;
	head = vr_head(skb, VR_ETH_LEN + VR_IP4_LEN);
	if (!head)
		return -1;
	vr_build_own_eth(head, &eth);
	if (v->version)
		vr_build_tos(head + VR_ETH_LEN, v->tos, v->version);
	return 0;
}

/* A flooding under way. */
struct vr_flooding {
	struct vr_push push;
	struct vr_eth eth;
	struct vr_seen seen;
	uint32_t longest; /* that must fit */
	uint32_t vif;	  /* that the frame came from, 0 for the fabric */
	uint32_t ready;	  /* the interface that the packet, as it is now, is for; 0: none */
	uint32_t to;	  /* the vif of that, 0 for the fabric */
	uint32_t copies;  /* that left */
	uint32_t drop;	  /* what became of the last that did not */
	uint32_t wrapped; /* the push of the nexthop whose headers it has; 0: none */
};

/* One a CPU, as a program and all that it calls have 512 bytes of stack. No program runs while
 * another one is under way on its CPU: what bpf_clone_redirect sends is received later. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_flooding);
} vr_floodings SEC(".maps");

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

/* A copy for one target. Global, so that the verifier looks at it once and not once a target. */
__attribute__((noinline)) int vr_copy_to(struct __sk_buff *skb, struct vr_flooding *g,
					 uint64_t route)
{
	const struct vr_nh *nh = vr_nh_at(0, VR_ROUTE_REF(route));
	struct vr_totals *total = vr_account();
	enum vr_drop bad;

	if (!g || !nh || !total || !vr_copy_goes(nh, g->vif, g->vif == 0))
		return 0;
	bad = vr_copy_fails(nh, g->longest);
	VR_STEP(copy, route, bad);
	if (bad) {
		vr_copy_lost(g, total, bad, nh->vif);
		return 0;
	}
	vr_copy_send(skb, g, total);
	if (nh->type == VR_NH_TUNNEL) {
		g->push.label = VR_ROUTE_LABEL(route);
		if ((g->wrapped && g->wrapped != nh->push) ||
		    vr_do_bridge_tunnel(skb, nh, &g->push, &g->eth, g->wrapped != 0)) {
			vr_copy_lost(g, total, VR_DROP_rewrite_failed, 0);
			return -1;
		}
		g->wrapped = nh->push;
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
#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOOD_TARGETS; i++)
		if (i >= l->count || vr_copy_to(skb, g, l->targets[i]))
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
	g->seen = *seen;
	g->vif = vif;
	g->ready = 0;
	g->to = 0;
	g->copies = 0;
	g->drop = VR_DROP_flood_nobody;
	g->wrapped = 0;
	return g;
}

/* The tunnel's headers of a nexthop before a frame. Global, to have a stack of its own. */
__attribute__((noinline)) int vr_frame_push(struct __sk_buff *skb, struct vr_flooding *g,
					    uint32_t nexthop)
{
	const struct vr_nh *nh = vr_nh_at(0, nexthop);

	if (!g || !nh || nh->type != VR_NH_TUNNEL)
		return -1;
	return vr_do_bridge_tunnel(skb, nh, &g->push, &g->eth, 0);
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

	if (!g)
		return 0;
	vr_add(&total->flooded, seen);
	vr_copies(skb, g, v->vrf ? VR_READ_ONCE(v->vrf->flood) : 0);
	if (g->ready) {
		vr_copy_left(g, total);
		g->copies++;
	}
	return g;
}

#endif
