/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Networks that are one link: what becomes of a frame that is not for the gateway's MAC address.
 * Ports' addresses are as sure as where packets are routed: nobody sends in another's name.
 */
#ifndef VR_BRIDGE_H
#define VR_BRIDGE_H

#include "vr_decide_fabric.h"
#include "vr_decide_vif.h"

/* 01:80:c2:00:00:00 to 0f: IEEE 802.1Q, table 8-1. */
VR_INLINE int vr_is_link_control(uint64_t dmac)
{
	return (dmac & 0xf0ffffffffffULL) == 0x000000c28001ULL;
}

VR_INLINE int vr_is_vlan(uint16_t type)
{
	return type == 0x8100 || type == 0x88a8;
}

/* IPv6 finds its neighbours by these, as IPv4 does by ARP, and bridges those who listen to a group:
 * RFC 4890, section 4.4.1, says that they must not be dropped. Nothing of them came over a router:
 * the hop limit is 255 or, from an address of the link, 1 (RFC 4861, sections 6.1 and 7.1; RFC
 * 3810, section 5). A fragment is none (RFC 6980). */
VR_INLINE int vr_is_link_message(const struct vr_ip *h)
{
	if (h->version != 6 || h->proto != VR_PROTO_ICMP6 || h->fragment)
		return 0;
	if (vr_is_mld(h->icmp))
		return h->ttl == 1 && (vr_is_link_local(h->saddr) || vr_is_zero(h->saddr));
	return h->icmp >= VR_ND_ROUTER_SOLICITATION && h->icmp <= VR_ND_ADVERTISEMENT &&
	       h->ttl == 255 && h->header == VR_IP6_LEN;
}

/* Whether an address of the link, by its form, belongs to another MAC address than the port's: RFC
 * 4291, appendix A. Those of other forms (RFC 7217) say nothing of whose they are. */
VR_INLINE int vr_names_another(const struct vr_vif *vif, struct vr_addr a)
{
	uint64_t mac = __builtin_bswap64(vr_mac_bits(vif->mac)) >> 16;
	uint64_t own = (mac >> 24 << 40 | 0xfffeULL << 24 | (mac & 0xffffff)) ^ 1ULL << 57;

	return (a.lo >> 24 & 0xffff) == 0xfffe && a.lo != own;
}

/* Whether a port may call an address its own. */
VR_INLINE int vr_bridge_owns6(const struct vr_tables *t, struct vr_addr a, const struct vr_vif *vif,
			      const struct vr_vrf *vrf)
{
	if (vr_is_link_local(a))
		return !vr_names_another(vif, a);
	return vr_owns(t, vif, vrf, a, 1);
}

/* The link's own messages. The gateway is the only router: the others' advertisements would turn
 * all of the link to whoever sends them (RFC 6105). What says whose an address is must be about the
 * port's own, and lie where it can be seen: nobody has to put extension headers before it, and none
 * may be fragmented (RFC 6980). */
VR_INLINE int vr_bridge_nd(const struct vr_tables *t, const struct vr_frame *f,
			   const struct vr_ip *h, const struct vr_vif *vif,
			   const struct vr_vrf *vrf, struct vr_verdict *v)
{
	const uint8_t *icmp = f->data + VR_ETH_LEN + VR_IP6_LEN;
	struct vr_addr target;
	uint8_t type = h->icmp;

	if (type == VR_ND_REDIRECT || type == VR_ND_ROUTER_SOLICITATION + 1) {
		vr_drop_it(v, VR_DROP_rogue_router);
		return 1;
	}
	if (type != VR_ND_SOLICITATION && type != VR_ND_ADVERTISEMENT)
		return 0;
	if (h->header != VR_IP6_LEN || h->ttl != 255 ||
	    h->total < VR_IP6_LEN + VR_ND_SOLICITATION_LEN ||
	    icmp + VR_ND_SOLICITATION_LEN > f->end) {
		vr_drop_it(v, VR_DROP_nd_malformed);
		return 1;
	}
	target = vr_get_addr(icmp + 8);
	VR_STEP(nd, target.hi, target.lo);
	if (type == VR_ND_ADVERTISEMENT || vr_is_zero(h->saddr)) {
		if (vr_bridge_owns6(t, target, vif, vrf))
			return 0;
		vr_drop_it(v, VR_DROP_spoofed_address);
		return 1;
	}
	if (vr_is_zero(vrf->gateway6) || !vr_same_addr(target, vrf->gateway6))
		return 0;
	vr_decide_solicitation(t, f, h, vif, vrf, v);
	return 1;
}

/* A port sends from its own IPv6 addresses. Who has none yet only asks: whether one is free (RFC
 * 4862, section 5.4.2), for routers (RFC 4861, section 4.1), and to hear of a group (RFC 3590). */
VR_INLINE int vr_bridge_source6(const struct vr_tables *t, const struct vr_ip *h,
				const struct vr_vif *vif, const struct vr_vrf *vrf)
{
	if (vr_is_zero(h->saddr))
		return vr_is_link_message(h);
	return vr_bridge_owns6(t, h->saddr, vif, vrf);
}

/* Whether an IP packet that a container sends over its link is decided here already. */
VR_INLINE int vr_bridge_ip(const struct vr_tables *t, const struct vr_frame *f, struct vr_ip *h,
			   const struct vr_vif *vif, const struct vr_vrf *vrf, struct vr_verdict *v)
{
	enum vr_drop bad = VR_DROP_NONE;

	if (h->tunnel)
		bad = VR_DROP_tenant_tunnel;
	else if (h->version == 4 && !vr_owns(t, vif, vrf, h->saddr, 0))
		bad = VR_DROP_spoofed_address;
	else if (h->version == 6 && !vr_bridge_source6(t, h, vif, vrf))
		bad = VR_DROP_spoofed_address;
	if (bad) {
		vr_drop_it(v, bad);
		return 1;
	}
	vr_step_source(h);
	if (h->proto != VR_PROTO_ICMP6 || h->version != 6 || h->later)
		return 0;
	return vr_bridge_nd(t, f, h, vif, vrf, v);
}

/* What policies are asked about a bridged frame. */
VR_INLINE uint8_t vr_bridge_asked(uint16_t type, const struct vr_ip *h)
{
	if (type == VR_ETHERTYPE_ARP || vr_is_link_message(h))
		return VR_ASKED_NOTHING;
	return h->version ? VR_ASKED_FLOW : VR_ASKED_DEFAULT;
}

/* The longest packet that a frame, or a copy of it, is cut into. */
VR_INLINE uint32_t vr_bridge_longest(const struct vr_frame *f, uint32_t offset,
				     const struct vr_ip *h)
{
	return f->gso_size ? vr_segment_length(h, f->gso_size) : f->length - offset;
}

/* What a tunnel's headers need. What is no IP packet shows no more of a flow than its MAC
 * addresses. */
VR_INLINE void vr_bridge_push(const struct vr_frame *f, struct vr_ip *h, uint32_t vrf,
			      struct vr_verdict *v)
{
	if (h->version == 0) {
		h->saddr.lo = vr_get_mac(f->data + 6);
		h->daddr.lo = vr_get_mac(f->data);
	}
	v->push.sport = vr_entropy_port(h, vrf);
	v->push.length = f->length - VR_ETH_LEN;
	v->push.version = h->version;
	v->push.tos = h->tos & 3; /* RFC 6040, section 4.1 */
}

/* A copy goes to ports but for the one that it came from, and from ports to other nodes: what the
 * fabric brought never goes back to it, for every node gets its own copy from the first (split
 * horizon: RFC 7432, section 8.3.1.2). */
VR_INLINE int vr_copy_goes(const struct vr_nh *nh, uint32_t vif, int from_fabric)
{
	if (nh->type == VR_NH_TUNNEL)
		return !from_fabric;
	return nh->type == VR_NH_ENCAP && !(nh->flags & VR_NH_FABRIC) && nh->vif != vif;
}

/* Why a copy cannot go, if so. Whether a port's policy lets it is asked after this. */
VR_INLINE enum vr_drop vr_copy_fails(const struct vr_nh *nh, uint32_t longest)
{
	if (!(VR_READ_ONCE(nh->dmac) & VR_MAC_KNOWN))
		return VR_DROP_unresolved;
	return longest > VR_READ_ONCE(nh->mtu) ? VR_DROP_mtu_exceeded : VR_DROP_NONE;
}

/* For all, or for whom nobody has named. */
VR_INLINE void vr_bridge_all(const struct vr_vrf *vrf, struct vr_verdict *v)
{
	if (VR_READ_ONCE(vrf->flood))
		v->op = VR_OP_FLOOD;
	else
		vr_drop_it(v, VR_DROP_flood_nobody);
}

/* Where a frame goes: its nexthop, or none if it is decided. */
VR_INLINE const struct vr_nh *vr_bridge_to(const struct vr_tables *t, uint32_t vrf_index,
					   const struct vr_vrf *vrf, uint64_t dmac,
					   struct vr_verdict *v)
{
	const struct vr_nh *nh = 0;
	uint64_t route;

	if (dmac & 1) { /* a group's address */
		vr_bridge_all(vrf, v);
		return 0;
	}
	route = vr_mac_lookup(t, VR_MAC_KEY(vrf_index, dmac));
	VR_STEP(mac, route, dmac);
	if (route) {
		nh = vr_nh_at(t, VR_ROUTE_REF(route));
		v->push.label = VR_ROUTE_LABEL(route);
		v->nexthop = VR_ROUTE_REF(route);
		if (!nh || nh->type == VR_NH_NONE)
			vr_drop_it(v, VR_DROP_bad_nexthop);
		else
			return nh;
	} else if (VR_READ_ONCE(vrf->flags) & VR_VRF_FLOOD_UNKNOWN) {
		vr_bridge_all(vrf, v);
	} else {
		vr_drop_it(v, VR_DROP_unknown_mac);
	}
	return 0;
}

/* A frame from a container to another MAC address than the gateway's. */
VR_INLINE void vr_decide_bridge(const struct vr_tables *t, const struct vr_frame *f,
				const struct vr_vif *vif, const struct vr_vrf *vrf,
				struct vr_verdict *v)
{
	const uint64_t dmac = vr_get_mac(f->data);
	const uint16_t type = vr_get16(f->data + 12);
	const struct vr_nh *nh;
	struct vr_ip h = {};
	enum vr_drop bad;

	if (vr_is_link_control(dmac))
		return vr_drop_it(v, VR_DROP_link_control);
	if (vr_is_vlan(type))
		return vr_drop_it(v, VR_DROP_vlan);
	if (vr_version_of(type)) {
		bad = vr_parse_at(f, VR_ETH_LEN, &h);
		if (!bad && h.version != vr_version_of(type))
			bad = VR_DROP_bad_header;
		if (bad)
			return vr_drop_it(v, bad);
		v->version = h.version;
		if (vr_bridge_ip(t, f, &h, vif, vrf, v))
			return;
	} else if (f->gso_size) { /* the other end could not tell what it is */
		return vr_drop_it(v, VR_DROP_joined);
	}
	v->asked = vr_bridge_asked(type, &h);
	v->longest = vr_bridge_longest(f, VR_ETH_LEN, &h);
	vr_bridge_push(f, &h, vif->vrf, v);
	nh = vr_bridge_to(t, vif->vrf, vrf, dmac, v);
	if (!nh)
		return;
	if (dmac == vr_mac_bits(vif->mac))
		return vr_drop_it(v, VR_DROP_own_mac);
	/* Nobody of the link's own addresses is known well enough to be told an MTU. */
	vr_decide_nh(f, &h, nh, h.version == 4 || vr_same_addr(h.saddr, vif->address6), v);
	if (v->op != VR_OP_ENCAP && v->op != VR_OP_TUNNEL)
		return;
	v->op = v->op == VR_OP_TUNNEL ? VR_OP_BRIDGE_TUNNEL : VR_OP_BRIDGE;
	if (h.syn && VR_READ_ONCE(vrf->flags) & VR_VRF_MSS_CLAMP) {
		v->header = h.header;
		v->mss =
		    vr_decide_mss(VR_READ_ONCE(nh->mtu), h.version == 6 ? VR_IP6_LEN : VR_IP4_LEN);
	}
}

/* A frame from the fabric. Another node has checked who sends it. */
VR_INLINE void vr_decide_bridge_inner(const struct vr_tables *t, const struct vr_frame *f,
				      const struct vr_ip *outer, const struct vr_wrap *w,
				      struct vr_verdict *v)
{
	const struct vr_nh *nh;
	struct vr_ip h = {};

	v->vrf = w->vrf;
	v->pop = (uint8_t)w->length;
	if (vr_is_vlan(w->type)) /* as RFC 7348, section 6.1, for all tunnels */
		return vr_drop_it(v, VR_DROP_vlan);
	if (vr_is_link_control(w->dmac))
		return vr_drop_it(v, VR_DROP_link_control);
	if (!w->version && vr_odd_frame(f, outer, w, v))
		return;
	if (w->version && !vr_parse_inner(f, outer, w, &h, v))
		return;
	v->asked = vr_bridge_asked(w->type, &h);
	v->longest = vr_bridge_longest(f, VR_ETH_LEN + w->length, &h);
	nh = vr_bridge_to(t, w->vrf_index, w->vrf, w->dmac, v);
	if (!nh)
		return;
	if (nh->flags & VR_NH_FABRIC || nh->type == VR_NH_TUNNEL)
		return vr_drop_it(v, VR_DROP_split_horizon);
	vr_decide_nh(f, &h, nh, 0, v);
	if (v->op == VR_OP_ENCAP)
		v->op = VR_OP_BRIDGE_DECAP;
}

#endif
