/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What becomes of a frame from the fabric: a tunnel's packet to this node, a packet of a network
 * that is reached without one, or none of ours.
 */
#ifndef VR_DECIDE_FABRIC_H
#define VR_DECIDE_FABRIC_H

#include "vr_plain.h"

/* Whom a packet is for that came into a network: a port of this node, addressed to the gateway,
 * which is how nodes send, or to the port itself. */
VR_INLINE const struct vr_nh *vr_decide_vni(const struct vr_tables *t, const struct vr_frame *f,
					    const struct vr_wrap *w, const struct vr_ip *h,
					    struct vr_verdict *v)
{
	uint64_t route = vr_find_route(t, w->vrf, h);
	const struct vr_nh *nh = 0;

	if (w->dmac & 1) { /* a group's address */
		vr_drop_it(v, VR_DROP_inner_wrong_mac);
		return 0;
	}
	if (route) {
		vr_step_route(h, route);
		nh = vr_route_nh(t, f, h, VR_FABRIC_SEED, VR_LOCAL_MEMBER, &route, v);
		if (!nh)
			return 0;
	}
	if (!nh || nh->type != VR_NH_ENCAP || nh->flags & VR_NH_FABRIC)
		vr_drop_it(v, VR_DROP_not_here);
	else if (w->dmac != vr_mac_bits(w->vrf->gateway_mac) &&
		 w->dmac != vr_mac_bits(VR_READ_ONCE(nh->dmac)))
		vr_drop_it(v, VR_DROP_inner_wrong_mac);
	else
		return nh;
	return 0;
}

/*
 * Whether an inner packet's end is behind the outer one's, which are so many bytes behind the outer
 * Ethernet header. Both are all of an aggregate. Without a branch for that, because a verifier
 * would follow both sides through all that comes after.
 */
VR_INLINE int vr_cut_off(const struct vr_frame *f, const struct vr_ip *outer, uint32_t bytes)
{
	uint64_t behind = ((uint64_t)outer->total - bytes) & ((uint64_t)f->gso_size - 1);

	VR_OPAQUE(behind);
	return behind >> 63 != 0;
}

/* The same of a frame that holds no IP packet, and so has no length of its own. It is never an
 * aggregate. */
VR_INLINE int vr_odd_frame(const struct vr_frame *f, const struct vr_ip *outer,
			   const struct vr_wrap *w, struct vr_verdict *v)
{
	if (f->gso_size)
		vr_drop_it(v, VR_DROP_joined);
	else if (vr_cut_off(f, outer, w->length))
		vr_drop_it(v, VR_DROP_truncated);
	else
		return 0;
	return 1;
}

/* What is wrong with an inner packet. Tunnel packets that GRO joined by their outer headers
 * (rx-udp-gro-forwarding, rx-gro-list) show as an aggregate that the first inner header does not
 * count whole: each has headers of its own. */
VR_INLINE enum vr_drop vr_inner_bad(const struct vr_frame *f, const struct vr_ip *outer,
				    const struct vr_wrap *w, struct vr_ip *h)
{
	enum vr_drop bad = vr_parse_at(f, VR_ETH_LEN + w->length, h);

	if (bad)
		return bad == VR_DROP_joined ? bad : VR_DROP_inner_bad_header;
	if (vr_cut_off(f, outer, w->length + h->total))
		return VR_DROP_inner_bad_header;
	return h->tunnel ? VR_DROP_inner_tunnel : VR_DROP_NONE;
}

/* Reads the IP packet inside a tunnel's, and its new traffic class. If it is no good, it is lost.
 */
VR_INLINE int vr_parse_inner(const struct vr_frame *f, const struct vr_ip *outer,
			     const struct vr_wrap *w, struct vr_ip *h, struct vr_verdict *v)
{
	const uint8_t *ip = f->data + VR_ETH_LEN + w->length;
	enum vr_drop bad = VR_DROP_NONE;
	int ecn;

	if (ip + VR_IP4_LEN > f->end) {
		vr_drop_it(v, VR_DROP_inner_bad_header);
		return 0;
	}
	v->version = ip[0] >> 4;
	if ((v->version != 4 && v->version != 6) || (w->version && v->version != w->version))
		bad = VR_DROP_inner_not_ip;
	else
		bad = vr_inner_bad(f, outer, w, h);
	if (bad) {
		vr_drop_it(v, bad);
		return 0;
	}
	VR_STEP(ecn, outer->tos, h->tos);
	ecn = vr_ecn_decapsulate(outer->tos, h->tos);
	if (ecn < 0)
		vr_drop_it(v, VR_DROP_ecn);
	v->tos = (uint8_t)((h->tos & ~3) | ecn);
	return ecn >= 0;
}

/* The frame inside a tunnel's: vr_bridge.h. */
VR_INLINE void vr_decide_bridge_inner(const struct vr_tables *t, const struct vr_frame *f,
				      const struct vr_ip *outer, const struct vr_wrap *w,
				      struct vr_verdict *v);

/* The packet inside a tunnel's. */
VR_INLINE void vr_decide_inner(const struct vr_tables *t, const struct vr_frame *f,
			       const struct vr_ip *outer, const struct vr_wrap *w,
			       struct vr_verdict *v)
{
	const struct vr_nh *nh = w->nh;
	struct vr_ip h = {};

	v->nh = nh;
	if (!vr_parse_inner(f, outer, w, &h, v))
		return;
	v->pop = (uint8_t)w->length;
	if (!nh)
		nh = vr_decide_vni(t, f, w, &h, v);
	if (!nh)
		return;
	vr_decide_nh(f, &h, nh, 0, v);
	if (v->op == VR_OP_ENCAP)
		v->op = VR_OP_DECAP;
	else if (v->op != VR_OP_DROP)
		vr_drop_it(v, VR_DROP_bad_nexthop); /* labels name vifs, nothing else */
}

/* What kind of tunnel's packet this is, if the node has such. A fragment is none: an outer packet
 * is never fragmented (RFC 7510, section 3; RFC 7348, section 4.3), so the host's stack has it. */
VR_INLINE enum vr_encapsulation vr_tunnel_kind(const struct vr_node *node, const struct vr_ip *h)
{
	if (!h->tunnel || h->fragment)
		return VR_BARE;
	if (h->proto == VR_PROTO_GRE)
		return VR_MPLSOGRE;
	if (h->dport == VR_PORT_MPLSOUDP)
		return VR_MPLSOUDP;
	return node->flags & VR_NODE_VXLAN ? VR_VXLAN : VR_BARE;
}

VR_INLINE void vr_step_outer(const struct vr_ip *outer)
{
	(void)outer;
	if (outer->version == 6)
		VR_STEP(outer6, outer->saddr.hi, outer->saddr.lo);
	else
		VR_STEP(outer, outer->saddr.hi >> 32, outer->tos);
}

/* The outer header must be the plain one that nodes send, not one with options or extensions: their
 * meaning (a routing header, a jumbo length) would be lost with them. To drop a tunnel's packet for
 * its headers is the tunnel's to decide; RFC 8200 binds the node's own stack, which gets all else.
 */
VR_INLINE enum vr_drop vr_outer_plain(const struct vr_ip *outer)
{
	if (outer->version == 6)
		return outer->header == VR_IP6_LEN ? VR_DROP_NONE : VR_DROP_outer_extensions;
	return outer->header == VR_IP4_LEN ? VR_DROP_NONE : VR_DROP_bad_header;
}

/* Whether nobody can have sent a packet from there: RFC 1122, section 3.2.1.3, and RFC 4291,
 * sections 2.5.2, 2.5.3 and 2.7. The destination is the node's own address. What a time to live of
 * 0 says is no reason to drop what has arrived (RFC 1812, section 4.2.2.9). */
VR_INLINE int vr_outer_martian(const struct vr_ip *outer)
{
	uint64_t first = outer->saddr.hi >> 56;

	if (vr_same_addr(outer->saddr, outer->daddr))
		return 1;
	if (outer->version == 6)
		return first == 0xff || (outer->saddr.hi == 0 && outer->saddr.lo <= 1);
	return first == 0 || first == 127 || first >> 4 == 0xe ||
	       outer->saddr.hi >> 32 == 0xffffffff;
}

/* Whether the UDP header says another length than the IP header. Nodes have no use for that. */
VR_INLINE int vr_outer_odd_udp(const struct vr_frame *f, const struct vr_ip *outer,
			       const uint8_t *udp)
{
	uint64_t differs = ((uint32_t)outer->header + vr_get16(udp + 4)) ^ outer->total;
	uint64_t odd = -differs & ((uint64_t)f->gso_size - 1);

	VR_OPAQUE(odd);
	return odd >> 63 != 0;
}

/*
 * Whether a tunnel's packet is one that a node sent, and has a checksum where it must. Over IPv4 a
 * sender may leave it out (RFC 7510, section 3; RFC 7348, section 5). Over IPv6 a tunnel may, too
 * (RFC 6935, section 5), if both addresses are known to be a tunnel's (RFC 7510, section 3.1, d):
 * nothing else tells that one was damaged. Only the tunnels' ports are let off so: all others are
 * the host's stack's, which drops what has none. What a checksum says is not looked at: the inner
 * packet has its own.
 */
VR_INLINE enum vr_drop vr_outer_checked(const struct vr_tables *t, const struct vr_frame *f,
					const struct vr_ip *outer)
{
	const uint8_t *udp = f->data + VR_ETH_LEN + (outer->version == 6 ? VR_IP6_LEN : VR_IP4_LEN);
	const struct vr_vrf *peers;

	if (vr_outer_martian(outer))
		return VR_DROP_outer_source;
	if (outer->proto != VR_PROTO_UDP)
		return VR_DROP_NONE;
	if (udp + VR_UDP_LEN > f->end)
		return VR_DROP_truncated;
	if (vr_outer_odd_udp(f, outer, udp))
		return VR_DROP_outer_length;
	if (outer->version != 6 || vr_raw16(udp + 6))
		return VR_DROP_NONE;
	peers = vr_vrf_at(t, VR_PEERS_VRF);
	if (!peers || !vr_route_lookup(t, VR_READ_ONCE(peers->root6), outer->saddr))
		return VR_DROP_unknown_peer;
	return VR_DROP_NONE;
}

/* A tunnel's packet to this node. */
VR_INLINE void vr_decide_tunnel(const struct vr_tables *t, const struct vr_frame *f,
				const struct vr_ip *outer, enum vr_encapsulation kind,
				struct vr_verdict *v)
{
	const uint32_t head = outer->version == 6 ? VR_IP6_LEN : VR_IP4_LEN;
	const uint32_t offset = VR_ETH_LEN + head;
	struct vr_wrap w = {};
	enum vr_drop bad = vr_outer_plain(outer);

	vr_step_outer(outer);
	if (!bad)
		bad = vr_outer_checked(t, f, outer);
	if (bad)
		return vr_drop_it(v, bad);
	v->outer = (uint8_t)head;
	if (kind == VR_MPLSOUDP)
		bad = vr_unwrap_label(t, f, offset + VR_UDP_LEN, &w);
	else if (kind == VR_MPLSOGRE)
		bad = vr_unwrap_gre(t, f, offset, &w);
	else
		bad = vr_unwrap_vxlan(t, f, offset + VR_UDP_LEN, &w);
	if (bad)
		return vr_drop_it(v, bad);
	if (w.bridge)
		return vr_decide_bridge_inner(t, f, outer, &w, v);
	vr_decide_inner(t, f, outer, &w, v);
}

/* A packet to some other address: ours if the fabric's own table has it, which is how networks
 * without a tunnel are reached. */
VR_INLINE void vr_decide_flat(const struct vr_tables *t, const struct vr_frame *f,
			      const struct vr_ip *h, struct vr_verdict *v)
{
	const struct vr_vrf *vrf = vr_vrf_at(t, VR_FABRIC_VRF);
	uint64_t route = vrf ? vr_find_route(t, vrf, h) : 0;

	v->version = h->version;
	if (!route)
		return;
	vr_step_route(h, route);
	vr_decide_nh(f, h, vr_nh_at(t, VR_ROUTE_REF(route)), 0, v);
}

/* Whether a packet is addressed to the node itself, by an address that it has. */
VR_INLINE int vr_to_node(const struct vr_node *node, const struct vr_ip *h)
{
	if (h->version == 6)
		return vr_same_addr(h->daddr, node->address6) && !vr_is_zero(h->daddr);
	return h->daddr.hi >> 32 == node->address && node->address != 0;
}

/*
 * A frame from the fabric. The time to live is counted down where the packet entered: the network
 * is one router wide, however many nodes it spans (RFC 3443, section 3.2, the pipe model).
 */
VR_INLINE void vr_decide_fabric(const struct vr_tables *t, const struct vr_node *node,
				const struct vr_frame *f, struct vr_verdict *v)
{
	enum vr_encapsulation kind;
	struct vr_ip h = {};
	uint8_t version;

	v->routed = 0;
#ifndef VR_GENERAL_ONLY
	if (vr_plain_fabric(t, node, f, v))
		return;
#endif
	v->op = VR_OP_PASS;
	if (f->data + VR_ETH_LEN + VR_IP4_LEN > f->end)
		return;
	version = vr_version_of(vr_get16(f->data + 12));
	if (version == 0 || f->data[VR_ETH_LEN] >> 4 != version)
		return;
	if (vr_get_mac(f->data) != vr_mac_bits(node->mac))
		return;
	if (vr_parse_at(f, VR_ETH_LEN, &h))
		return;
	if (!vr_to_node(node, &h))
		return vr_decide_flat(t, f, &h, v);
	kind = vr_tunnel_kind(node, &h);
	if (kind != VR_BARE)
		vr_decide_tunnel(t, f, &h, kind, v);
}

#endif
