/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fast path: packets that need nothing but headers go from XDP of one device straight to
 * another's driver (a devmap), without ever becoming an skb. The decision is vr_decide.h's, as at
 * tc, and so are the accounts.
 *
 * Everything else goes on to tc as it came and uncounted: answers, losses, SYNs whose segment size
 * is clamped, what no driver takes, and two kinds that XDP would harm.
 *
 * Unfinished checksums. A veth or a tap hands over what its stack left to a device to finish
 * (CHECKSUM_PARTIAL), and says so in the skb alone. What stands in the checksum's place then is the
 * sum of the pseudo-header (tcp_v4_send_check, udp4_hwcsum), so a packet that has this there is
 * left to tc. A finished checksum looks so once in 65,536, and loses nothing by it.
 *
 * TCP from the fabric, where GRO joins it before tc: all of a flow takes one way, or it would be
 * reordered.
 */
#ifndef VR_FAST_H
#define VR_FAST_H

#include "vr_stages.h"
#include "../core/vr_decide.h"
#include "../core/vr_build_tunnel.h"
#include "vr_count.h"
#include "vr_fabric_xdp.h"

/* Devices that take frames of XDP, by their vif, or 0 for the fabric: the agent knows them. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, __u32);
} vr_devs SEC(".maps");

enum vr_fast_flag {
	VR_FAST_ON = 1,	  /* else all is left to tc, as while somebody watches */
	VR_FAST_TCP = 2,  /* nothing joins TCP packets of the fabric before tc */
	VR_FAST_HAND = 4, /* tunnel packets that are left lose their headers: vr_fabric_xdp.h */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} vr_fast_flags SEC(".maps");

/* What XDP of a vif, or 0 for the fabric, took and left. */
struct vr_fast_count {
	uint64_t taken;
	uint64_t left;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, struct vr_fast_count);
} vr_fast_counts SEC(".maps");

/* Why a packet is left to tc; shared with control/explain.go. */
enum vr_left {
	VR_LEFT_NOT, /* it is taken */
	VR_LEFT_OFF,
	VR_LEFT_DECISION, /* it is not forwarded by headers alone */
	VR_LEFT_MSS,
	VR_LEFT_DEVICE, /* no driver takes it */
	VR_LEFT_CHECKSUM,
	VR_LEFT_TCP,
	VR_LEFT_ROOM, /* the driver leaves too little in front of it */
	VR_LEFT_FLOW, /* the table of flows is tc's */
};

VR_INLINE uint32_t vr_fast_flags_now(void)
{
	uint32_t zero = 0, *flags = bpf_map_lookup_elem(&vr_fast_flags, &zero);

	return flags ? *(volatile uint32_t *)flags : 0;
}

/* Whether there is a driver that takes the frame. It gets it when the program ends with
 * XDP_REDIRECT, and not otherwise: so one look-up asks and tells. */
VR_INLINE int vr_fast_takes(const struct vr_nh *nh)
{
	uint32_t vif = nh->flags & VR_NH_FABRIC ? 0 : nh->vif;

	if (!VR_LIVE)
		return bpf_map_lookup_elem(&vr_devs, &vif) != 0;
	return bpf_redirect_map(&vr_devs, vif, 0) == XDP_REDIRECT;
}

VR_INLINE void vr_fast_note(uint32_t vif, enum vr_left left)
{
	struct vr_fast_count *c = bpf_map_lookup_elem(&vr_fast_counts, &vif);

	VR_STEP(fast, left, 0);
	if (!VR_LIVE || !c)
		return;
	if (left == VR_LEFT_NOT)
		c->taken++;
	else
		c->left++;
}

/* The pseudo-header's sum, as the stack leaves it in the checksum's place: RFC 9293, section 3.1,
 * and RFC 8200, section 8.1. */
VR_INLINE uint16_t vr_pseudo_sum(const uint8_t *ip, uint8_t version, uint8_t proto)
{
	uint32_t from = version == 6 ? 8 : 12, bytes = version == 6 ? 32 : 8;
	uint16_t length =
	    version == 6 ? vr_get16(ip + 4) : (uint16_t)(vr_get16(ip + 2) - VR_IP4_LEN);
	uint64_t sum = (uint64_t)__builtin_bswap16(length) + __builtin_bswap16(proto);

#pragma unroll
	for (uint32_t i = 0; i < 8; i++)
		if (4 * i < bytes)
			sum += vr_raw32(ip + from + 4 * i);
	return vr_csum_fold(sum);
}

/* Whether the checksum of the TCP or UDP header at l4 is for a device to finish. */
VR_INLINE int vr_unfinished(const uint8_t *ip, const uint8_t *end, uint8_t version, uint8_t proto)
{
	const uint8_t *l4 = ip + (version == 6 ? VR_IP6_LEN : VR_IP4_LEN);
	uint32_t at = proto == VR_PROTO_TCP ? VR_TCP_CSUM : 6;

	VR_OPAQUE(l4);
	if (l4 + VR_UDP_LEN > end || (proto == VR_PROTO_TCP && l4 + VR_TCP_LEN > end))
		return 1;
	return vr_raw16(l4 + at) == vr_pseudo_sum(ip, version, proto);
}

/* The protocol of the IP packet at an offset if XDP may forward it, or -1: its checksums must be
 * finished, which can be said of TCP, UDP and ICMP without options and extensions, and of fragments
 * (ip_do_fragment finishes what it cuts). Global, for the verifier: vr_stages.h says why. */
__attribute__((noinline)) int vr_fast_protocol(struct xdp_md *ctx, uint32_t offset)
{
	const uint8_t *data = VR_SKB_POINTER(ctx, data), *end = VR_SKB_POINTER(ctx, data_end);
	const uint8_t *ip;
	uint8_t proto;

	if (offset > VR_PARSE_MAX)
		return -1;
	ip = data + offset;
	if (ip + VR_IP4_LEN > end)
		return -1;
	if (ip[0] == 0x45) {
		proto = ip[9];
		if (vr_get16(ip + 6) & VR_IP4_FRAGMENT || proto == VR_PROTO_ICMP)
			return proto;
		if (proto != VR_PROTO_TCP && proto != VR_PROTO_UDP)
			return -1;
		return vr_unfinished(ip, end, 4, proto) ? -1 : proto;
	}
	if (ip[0] >> 4 != 6 || ip + VR_IP6_LEN > end)
		return -1;
	proto = ip[6];
	if (proto == VR_PROTO_ICMP6)
		return proto;
	if (proto != VR_PROTO_TCP && proto != VR_PROTO_UDP)
		return -1;
	return vr_unfinished(ip, end, 6, proto) ? -1 : proto;
}

/* As vr_fast_protocol, of a packet that the decision found plain. */
VR_INLINE int vr_fast_plain(const struct vr_frame *f, uint32_t offset, uint8_t proto)
{
	const uint8_t *ip = f->data + offset;

	if (ip + VR_IP4_LEN > f->end)
		return -1;
	return vr_unfinished(ip, f->end, 4, proto) ? -1 : proto;
}

/* The frame's beginning with so many more bytes in front, or fewer, of which so many will be
 * written; none if the driver refuses, and then the frame is as it was. */
VR_INLINE uint8_t *vr_xdp_room(struct xdp_md *ctx, int more, uint32_t written)
{
	uint8_t *data;

	if (more && bpf_xdp_adjust_head(ctx, -more))
		return 0;
	data = VR_SKB_POINTER(ctx, data);
	return data + written <= VR_SKB_POINTER(ctx, data_end) ? data : 0;
}

VR_INLINE int vr_fast_tunnel(struct xdp_md *ctx, const struct vr_verdict *v, uint32_t ip,
			     enum vr_encapsulation kind)
{
	const uint32_t bytes = ip + vr_wrap_length(kind);
	uint8_t *head = vr_xdp_room(ctx, (int)bytes, VR_ETH_LEN + bytes + VR_IP4_LEN);

	if (!head)
		return -1;
	vr_build_tunnel(head, v->nh, &v->push, ip, kind);
	vr_build_hop(head + VR_ETH_LEN + bytes, v->version);
	return 0;
}

/* Writes the headers of what a vif sent. -1: there was no room, and nothing is changed. */
VR_INLINE int vr_fast_push(struct xdp_md *ctx, const struct vr_verdict *v)
{
	uint8_t *head;

	if (v->op == VR_OP_ENCAP) {
		head = vr_xdp_room(ctx, 0, VR_ETH_LEN + VR_IP4_LEN);
		if (!head)
			return -1;
		vr_build_eth(head, VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
		vr_build_hop(head + VR_ETH_LEN, v->version);
		return 0;
	}
#define VR_PUSH(ip, kind) vr_fast_tunnel(ctx, v, ip, kind)
	return VR_BY_TUNNEL(v->nh, VR_PUSH);
#undef VR_PUSH
}

/* The same for what came from the fabric: its tunnel's headers go, if it has some. */
VR_INLINE int vr_fast_pop(struct xdp_md *ctx, const struct vr_verdict *v)
{
	int bytes = v->op == VR_OP_DECAP ? v->pop : 0;
	uint8_t *head = vr_xdp_room(ctx, -bytes, VR_ETH_LEN + VR_IP4_LEN);

	if (!head)
		return -1;
	vr_build_eth(head, VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
	if (v->op == VR_OP_DECAP)
		vr_build_tos(head + VR_ETH_LEN, v->tos, v->version);
	return 0;
}

/* The frame goes to its driver. What is behind that is the device's to count, as at tc. */
VR_INLINE int vr_fast_leave(struct vr_totals *total, const struct vr_seen *seen,
			    const struct vr_nh *nh)
{
	struct vr_vif_count *c = 0;
	uint32_t vif = nh->vif;

	VR_STEP(leave, nh->ifindex, 0);
	vr_add(&total->forwarded, seen);
	if (!(nh->flags & VR_NH_FABRIC))
		c = bpf_map_lookup_elem(&vr_vif_counts, &vif);
	if (c)
		vr_add(&c->tx, seen);
	return XDP_REDIRECT;
}

/* Why XDP leaves what a vif sent to tc, as far as can be told before the frame is changed. */
VR_INLINE enum vr_left vr_fast_leaves_vif(struct xdp_md *ctx, const struct vr_frame *f,
					  const struct vr_vif *vif, const struct vr_verdict *v)
{
	int protocol;

	if (v->op != VR_OP_ENCAP && v->op != VR_OP_TUNNEL)
		return VR_LEFT_DECISION;
	if (vif->policy || v->nh->flags & VR_NH_FLOW)
		return VR_LEFT_FLOW;
	if (v->mss)
		return VR_LEFT_MSS;
	protocol =
	    v->plain ? vr_fast_plain(f, VR_ETH_LEN, v->plain) : vr_fast_protocol(ctx, VR_ETH_LEN);
	if (protocol < 0)
		return VR_LEFT_CHECKSUM;
	return vr_fast_takes(v->nh) ? VR_LEFT_NOT : VR_LEFT_DEVICE;
}

VR_INLINE enum vr_left vr_fast_leaves_fabric(struct xdp_md *ctx, const struct vr_frame *f,
					     const struct vr_verdict *v, uint32_t flags)
{
	int protocol;

	if (!(flags & VR_FAST_ON))
		return VR_LEFT_OFF;
	if ((v->op != VR_OP_ENCAP && v->op != VR_OP_DECAP) || v->nh->flags & VR_NH_FABRIC)
		return VR_LEFT_DECISION;
	if (v->nh->flags & VR_NH_FLOW)
		return VR_LEFT_FLOW;
	protocol = v->plain
		       ? vr_fast_plain(f, VR_PLAIN_INNER, v->plain)
		       : vr_fast_protocol(ctx, VR_ETH_LEN + (v->op == VR_OP_DECAP ? v->pop : 0));
	if (protocol < 0)
		return VR_LEFT_CHECKSUM;
	if (protocol == VR_PROTO_TCP && !(flags & VR_FAST_TCP))
		return VR_LEFT_TCP;
	return vr_fast_takes(v->nh) ? VR_LEFT_NOT : VR_LEFT_DEVICE;
}

/* The vif of an interface, 0 if it has none. */
VR_INLINE uint32_t vr_fast_port(uint32_t ifindex)
{
	uint32_t hint = ifindex & (VR_MAX_VIFS - 1);
	uint32_t *index = bpf_map_lookup_elem(&vr_port_hints, &hint);
	uint32_t port = index ? VR_READ_ONCE(*index) : 0;
	const struct vr_vif *vif = vr_vif_at(0, port);

	if (vif && vif->ifindex == ifindex)
		return port;
	index = bpf_map_lookup_elem(&vr_ports, &ifindex);
	return index ? *index : 0;
}

/* What a vif sent: XDP_PASS leaves it to tc. */
VR_INLINE int vr_fast_on_vif(struct xdp_md *ctx)
{
	uint32_t ifindex = ctx->ingress_ifindex;
	uint32_t port = vr_fast_port(ifindex);
	const struct vr_vif *vif = port ? vr_vif_at(0, port) : 0;
	struct vr_vif_count *c = port ? bpf_map_lookup_elem(&vr_vif_counts, &port) : 0;
	struct vr_totals *total = vr_account();
	struct vr_frame f = vr_xdp_frame(ctx);
	struct vr_seen seen = {.segments = 1, .bytes = f.length};
	struct vr_verdict v = {};
	enum vr_left left;

	if (!vif || !c || !total || !(vr_fast_flags_now() & VR_FAST_ON))
		return XDP_PASS;
	VR_STEP(vif, port, ifindex);
	vr_decide_vif(0, &f, vif, &v);
	left = vr_fast_leaves_vif(ctx, &f, vif, &v);
	if (left == VR_LEFT_NOT && vr_fast_push(ctx, &v))
		left = VR_LEFT_ROOM;
	vr_fast_note(port, left);
	if (left != VR_LEFT_NOT)
		return XDP_PASS;
	vr_add(&total->received_vif, &seen);
	vr_add(&c->rx, &seen);
	VR_STEP(verdict, v.op, v.drop);
	vr_add(&c->forwarded, &seen);
	return vr_fast_leave(total, &seen, v.nh);
}

/* What came from the fabric. */
VR_INLINE int vr_fast_on_fabric(struct xdp_md *ctx)
{
	uint32_t zero = 0, flags = vr_fast_flags_now();
	struct vr_node *node = bpf_map_lookup_elem(&vr_nodes, &zero);
	struct vr_totals *total = vr_account();
	struct vr_frame f = vr_xdp_frame(ctx);
	struct vr_seen seen = {.segments = 1, .bytes = f.length};
	struct vr_verdict v = {};
	enum vr_left left;

	if (!node || !total)
		return XDP_PASS;
	vr_decide_fabric(0, node, &f, &v);
	left = vr_fast_leaves_fabric(ctx, &f, &v, flags);
	if (left == VR_LEFT_NOT && vr_fast_pop(ctx, &v))
		left = VR_LEFT_ROOM;
	if (v.op != VR_OP_PASS)
		vr_fast_note(0, left);
	if (left == VR_LEFT_NOT) {
		vr_add(&total->received_fabric, &seen);
		VR_STEP(verdict, v.op, v.drop);
		return vr_fast_leave(total, &seen, v.nh);
	}
	if (!VR_LIVE || !(flags & VR_FAST_HAND) || v.op != VR_OP_DECAP ||
	    v.nh->flags & VR_NH_FABRIC || vr_xdp_strip(ctx, v.pop))
		return XDP_PASS;
	return vr_xdp_hand_over(ctx, &v);
}

#endif
