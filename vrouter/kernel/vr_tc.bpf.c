//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel mover at tc: one program at the ingress of every vif's host side, one at the ingress
 * of the fabric. They ask vr_decide.h what to do, do it (vr_rewrite.h), count it (vr_count.h) and
 * send the packet on.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "vr_stages.h"
#define VR_GENERAL_ONLY /* no room on the stack */
#include "../core/vr_decide.h"
#include "vr_count.h"
#include "vr_skb.h"
#include "vr_rewrite.h"
#include "vr_fabric_xdp.h"
#include "vr_flow_tc.h"
#include "vr_bridge_tc.h"

VR_INLINE int vr_redirect(uint32_t ifindex)
{
	VR_STEP(leave, ifindex, 0);
	return VR_LIVE ? bpf_redirect(ifindex, 0) : TC_ACT_REDIRECT;
}

/* Into the container, or out of a device. The packet was addressed to the gateway's MAC, so the
 * kernel may have marked it as somebody else's; the container's stack would ignore that. */
VR_INLINE int vr_leave(struct __sk_buff *skb, uint32_t ifindex, int peer)
{
	if (!peer)
		return vr_redirect(ifindex);
	VR_STEP(leave, ifindex, 1);
	if (skb->pkt_type != 0)
		bpf_skb_change_type(skb, 0 /* PACKET_HOST */);
	return VR_LIVE ? bpf_redirect_peer(ifindex, 0) : TC_ACT_REDIRECT;
}

VR_INLINE int vr_deliver(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			 uint32_t vif, uint32_t ifindex, int peer)
{
	struct vr_vif_count *c = bpf_map_lookup_elem(&vr_vif_counts, &vif);

	vr_add(&total->forwarded, seen);
	if (c)
		vr_add(&c->tx, seen);
	return vr_leave(skb, ifindex, peer);
}

/* Without bpf_redirect_peer the kernel reads anew what a frame holds, which a tunnel's headers, or
 * those that it had, have left it to take for an IP packet. */
VR_INLINE int vr_forward(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			 const struct vr_nh *nh, uint8_t version)
{
	if (!(nh->flags & VR_NH_FABRIC))
		return vr_deliver(skb, total, seen, nh->vif, nh->ifindex,
				  version ? nh->flags & VR_NH_PEER : 0);
	vr_add(&total->forwarded, seen);
	return vr_redirect(nh->ifindex);
}

VR_INLINE int vr_answer(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			const struct vr_vif *vif)
{
	vr_add(&total->answered, seen);
	return vr_leave(skb, vif->ifindex, vif->flags & VR_VIF_PEER);
}

/* Puts the new headers on a packet from a container. */
VR_INLINE int vr_do_send(struct __sk_buff *skb, const struct vr_seen *seen,
			 const struct vr_verdict *v, uint32_t vif)
{
	if (v->mss && vr_clamp_mss(skb, VR_ETH_LEN + v->header, v->mss))
		return -1;
	switch (v->op) {
	case VR_OP_BRIDGE:
		return 0;
	case VR_OP_BRIDGE_TUNNEL:
		return vr_do_frame_tunnel(skb, seen, v, vif);
	}
	if (vr_do_hop(skb, v->version))
		return -1;
	return v->op == VR_OP_TUNNEL ? vr_do_tunnel(skb, v) : vr_do_encap(skb, v);
}

/* What is left of a packet that was flooded: its last copy, or nothing. */
VR_INLINE int vr_flood_end(const struct vr_flooding *g)
{
	return g->ready ? vr_redirect(g->ready) : TC_ACT_SHOT;
}

/* From a container, for all of its network. */
VR_INLINE int vr_flood_from_vif(struct __sk_buff *skb, struct vr_totals *total,
				const struct vr_seen *seen, const struct vr_verdict *v,
				uint32_t index, struct vr_vif_count *c)
{
	const struct vr_flooding *g = vr_flood_all(skb, total, seen, v, index);

	if (!g || !g->copies)
		return vr_lose_of(total, seen, g ? g->drop : VR_DROP_copy_failed, index, 1);
	vr_add(&total->forwarded, seen);
	vr_add(&c->forwarded, seen);
	return vr_flood_end(g);
}

/* From a container. */
VR_INLINE int vr_from_vif(struct __sk_buff *skb, struct vr_totals *total,
			  const struct vr_seen *seen, const struct vr_vif *vif, uint32_t index,
			  struct vr_vif_count *c)
{
	struct vr_verdict v = {};
	struct vr_frame f;
	int failed;

	vr_ip_frame(skb, VR_ETH_LEN, &f);
	vr_decide_vif(0, &f, vif, &v);
	VR_STEP(verdict, v.op, v.drop);
	if (v.op == VR_OP_DROP)
		return vr_lose_of(total, seen, v.drop, index, 1);
	if (v.op == VR_OP_FLOOD) {
		failed = vr_flow_leave(skb, vif, index, v.asked);
		if (failed)
			return vr_lose_of(total, seen, (uint32_t)failed, index, 1);
		return vr_flood_from_vif(skb, total, seen, &v, index, c);
	}
	if (vr_is_forwarded(v.op)) {
		failed = vr_flow_forward(skb, vif, index, &v);
		if (failed)
			return vr_lose_of(total, seen, (uint32_t)failed, index, 1);
		if (vr_do_send(skb, seen, &v, index))
			return vr_lose_of(total, seen, VR_DROP_rewrite_failed, index, 1);
		vr_add(&c->forwarded, seen);
		return vr_forward(skb, total, seen, v.nh, 1);
	}
	if (vr_do_answer(skb, vif, &v))
		return vr_lose_of(total, seen, VR_DROP_rewrite_failed, index, 1);
	vr_add(&c->answered, seen);
	return vr_answer(skb, total, seen, vif);
}

VR_INLINE int vr_on_vif(struct __sk_buff *skb)
{
	struct vr_totals *total = vr_account();
	struct vr_seen seen = vr_see(skb);
	uint32_t ifindex = skb->ifindex;
	uint32_t *index = bpf_map_lookup_elem(&vr_ports, &ifindex);
	const struct vr_vif *vif = index ? vr_vif_at(0, *index) : 0;
	struct vr_vif_count *c = index ? bpf_map_lookup_elem(&vr_vif_counts, index) : 0;

	if (!total)
		return TC_ACT_SHOT;
	vr_add(&total->received_vif, &seen);
	if (!vif || !c)
		return vr_lose(total, &seen, VR_DROP_unknown_vif);
	VR_STEP(vif, *index, ifindex);
	vr_add(&c->rx, &seen);
	if (skb->vlan_present)
		return vr_lose_of(total, &seen, VR_DROP_vlan, *index, 1);
	return vr_from_vif(skb, total, &seen, vif, *index, c);
}

/* What is not ours goes on to whoever is next at this hook, and to the host's stack. */
VR_INLINE int vr_pass(struct vr_totals *total, const struct vr_seen *seen)
{
	VR_STEP(pass, 0, 0);
	vr_add(&total->passed, seen);
	return TC_ACT_UNSPEC;
}

/* XDP does not see a VLAN tag that the NIC took off; the packet is none of the fabric's then. */
VR_INLINE int vr_from_xdp(struct __sk_buff *skb, struct vr_totals *total,
			  const struct vr_seen *seen, const struct vr_handed *h)
{
	int lost = 0;

	if (skb->vlan_present)
		lost = VR_DROP_vlan;
	else if (h->flags & VR_NH_FLOW)
		lost = vr_flow_cross(skb, VR_ETH_LEN, h->vif, VR_FLOW_IN, VR_ASKED_FLOW);
	if (lost)
		return vr_lose_of(total, seen, (uint32_t)lost, h->vif, 0);
	return vr_deliver(skb, total, seen, h->vif, h->ifindex, h->flags & VR_NH_PEER);
}

/* What came in a tunnel, or not, as the port gets it. */
VR_INLINE int vr_do_receive(struct __sk_buff *skb, const struct vr_verdict *v)
{
	switch (v->op) {
	case VR_OP_DECAP:
		return vr_do_decap(skb, v);
	case VR_OP_BRIDGE_DECAP:
		return vr_frame_pop(skb, v->pop, v->outer, v->version, v->tos);
	default:
		return vr_do_encap(skb, v);
	}
}

/* From the fabric, for all of its network here. */
VR_INLINE int vr_flood_from_fabric(struct __sk_buff *skb, struct vr_totals *total,
				   const struct vr_seen *seen, const struct vr_verdict *v)
{
	const struct vr_flooding *g;

	if (vr_frame_pop(skb, v->pop, v->outer, v->version, v->tos))
		return vr_lose(total, seen, VR_DROP_rewrite_failed);
	g = vr_flood_all(skb, total, seen, v, 0);
	if (!g || !g->copies)
		return vr_lose(total, seen, g ? g->drop : VR_DROP_copy_failed);
	vr_add(&total->forwarded, seen);
	return vr_flood_end(g);
}

VR_INLINE int vr_on_fabric(struct __sk_buff *skb)
{
	struct vr_totals *total = vr_account();
	struct vr_seen seen = vr_see(skb);
	struct vr_verdict v = {};
	struct vr_handed handed;
	struct vr_frame f;
	uint32_t zero = 0;
	struct vr_node *node = bpf_map_lookup_elem(&vr_nodes, &zero);
	int failed;

	if (!total || !node)
		return TC_ACT_UNSPEC;
	vr_add(&total->received_fabric, &seen);
	if (vr_handed_of(skb, &handed))
		return vr_from_xdp(skb, total, &seen, &handed);
	if (skb->vlan_present)
		return vr_pass(total, &seen);
	vr_fabric_frame(skb, node, &f);
	vr_decide_fabric(0, node, &f, &v);
	VR_STEP(verdict, v.op, v.drop);
	if (v.op == VR_OP_PASS)
		return vr_pass(total, &seen);
	if (v.op == VR_OP_FLOOD)
		return vr_flood_from_fabric(skb, total, &seen, &v);
	if (!vr_is_delivered(v.op))
		return vr_lose_to(total, &seen, v.op == VR_OP_DROP ? v.drop : VR_DROP_bad_nexthop,
				  v.nh);
	failed = vr_do_receive(skb, &v);
	if (failed)
		failed = VR_DROP_rewrite_failed;
	else /* the inner packet is the outer one now */
		failed = vr_flow_enter(skb, VR_ETH_LEN, v.nh, v.asked);
	return failed ? vr_lose_to(total, &seen, (uint32_t)failed, v.nh)
		      : vr_forward(skb, total, &seen, v.nh, v.version);
}

#ifndef VR_TRACING
SEC("tc")
int vr_vif_ingress(struct __sk_buff *skb)
{
	return vr_on_vif(skb);
}

SEC("tc")
int vr_fabric_ingress(struct __sk_buff *skb)
{
	return vr_on_fabric(skb);
}
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
