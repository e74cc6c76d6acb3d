/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The decision: what becomes of a packet. Pure: it reads the packet and the tables, and writes the
 * verdict. What a packet is made of afterwards is vr_build.h, how it moves is the mover's.
 */
#ifndef VR_DECIDE_H
#define VR_DECIDE_H

#include "vr_mss.h"
#include "vr_nd.h"
#include "vr_nexthop.h"

VR_INLINE uint8_t vr_version_of(uint16_t ethertype)
{
	if (ethertype == VR_ETHERTYPE_IP4)
		return 4;
	return ethertype == VR_ETHERTYPE_IP6 ? 6 : 0;
}

/* An ARP packet from a container. In a network that is one link, what does not ask for the gateway
 * says no more than who sends it, and is not decided here. */
VR_INLINE int vr_decide_arp(const struct vr_tables *t, const struct vr_frame *f,
			    const struct vr_vif *vif, const struct vr_vrf *vrf, int bridged,
			    struct vr_verdict *v)
{
	struct vr_arp a;
	enum vr_drop bad = vr_parse_arp(f->data + VR_ETH_LEN, f->end, &a);

	if (bad) {
		vr_drop_it(v, bad);
		return 1;
	}
	VR_STEP(arp, a.target, a.sender);
	if (!bridged && a.operation != VR_ARP_REQUEST)
		vr_drop_it(v, VR_DROP_arp_not_request);
	else if (a.sender_mac != vr_mac_bits(vif->mac))
		vr_drop_it(v, VR_DROP_spoofed_mac);
	else if (!bridged && vr_owns(t, vif, vrf, vr_addr_of(a.target), 0))
		vr_drop_it(v, VR_DROP_arp_own_address);
	/* A probe has no sender address yet: RFC 5227, section 2.1.1. */
	else if (a.sender != 0 && !vr_owns(t, vif, vrf, vr_addr_of(a.sender), 0))
		vr_drop_it(v, VR_DROP_spoofed_address);
	else if (bridged && (a.operation != VR_ARP_REQUEST || a.target != vrf->gateway))
		return 0;
	else if ((a.target & vrf->mask) != vrf->subnet)
		vr_drop_it(v, VR_DROP_arp_outside);
	else
		v->op = VR_OP_ARP;
	return 1;
}

/* Whether an error can be said about a packet: it must hold what the answer quotes, which is 20
 * bytes behind a header without options, and be no ICMPv6 error itself (RFC 4443, section 2.4 (e)).
 */
VR_INLINE int vr_may_quote(const struct vr_ip *h)
{
	if (h->version == 4)
		return h->header == VR_IP4_LEN && h->total >= VR_IP4_LEN + 20;
	return h->total >= VR_IP6_LEN + 20 && (h->proto != VR_PROTO_ICMP6 || h->icmp >= 128);
}

/* Whether the packet fits; if it does not, the verdict says what is done about it. What may follow
 * the IP packet in its frame is sent along, so it counts; the shortest frames are padded (IEEE
 * 802.3, clause 4), and always fit. */
VR_INLINE int vr_decide_fits(const struct vr_frame *f, const struct vr_ip *h, uint32_t mtu,
			     int answer, struct vr_verdict *v)
{
	uint32_t length =
	    f->gso_size ? vr_segment_length(h, f->gso_size) : f->length - VR_ETH_LEN - v->pop;

	VR_STEP(fits, length, mtu);
	if (length <= mtu)
		return 1;
	if (answer && h->df && vr_may_quote(h)) {
		v->op = VR_OP_TOO_BIG;
		v->mtu = mtu;
	} else {
		vr_drop_it(v, VR_DROP_mtu_exceeded);
	}
	return 0;
}

/* What the virtual gateway answers itself: echo requests. */
VR_INLINE void vr_decide_gateway(const struct vr_frame *f, const struct vr_ip *h,
				 struct vr_verdict *v)
{
	const uint32_t ip = h->version == 6 ? VR_IP6_LEN : VR_IP4_LEN;
	const uint8_t *icmp = f->data + VR_ETH_LEN + ip;

	vr_drop_it(v, VR_DROP_gateway);
	if (h->proto != (h->version == 6 ? VR_PROTO_ICMP6 : VR_PROTO_ICMP) || h->header != ip ||
	    h->fragment)
		return;
	if (icmp + VR_ICMP_LEN > f->end || icmp[0] != (h->version == 6 ? 128 : 8) || icmp[1] != 0)
		return;
	v->op = VR_OP_ECHO;
}

/* Sends an inner packet to a nexthop. */
VR_INLINE void vr_decide_nh(const struct vr_frame *f, const struct vr_ip *h, const struct vr_nh *nh,
			    int answer, struct vr_verdict *v)
{
	if (!nh || nh->type == VR_NH_NONE || VR_NH_LEADS_ON(nh))
		return vr_drop_it(v, VR_DROP_bad_nexthop);
	if (nh->type == VR_NH_DISCARD)
		return vr_drop_it(v, VR_DROP_discarded);
	if (nh->type == VR_NH_RECEIVE)
		return vr_decide_gateway(f, h, v);
	v->nh = nh;
	if (!(VR_READ_ONCE(nh->dmac) & VR_MAC_KNOWN))
		return vr_drop_it(v, VR_DROP_unresolved);
	if (!vr_decide_fits(f, h, VR_READ_ONCE(nh->mtu), answer, v))
		return;
	v->op = nh->type == VR_NH_TUNNEL ? VR_OP_TUNNEL : VR_OP_ENCAP;
}

/* What leaves room for the headers without options: RFC 9293, section 3.7.1. */
VR_INLINE uint16_t vr_decide_mss(uint32_t mtu, uint32_t ip)
{
	if (mtu <= ip + VR_TCP_LEN)
		return 0;
	mtu -= ip + VR_TCP_LEN;
	return mtu > 0xffff ? 0xffff : (uint16_t)mtu;
}

VR_INLINE void vr_step_source(const struct vr_ip *h)
{
	(void)h;
	if (h->version == 6)
		VR_STEP(source6, h->saddr.hi, h->saddr.lo);
	else
		VR_STEP(source, h->saddr.hi >> 32, 0);
}

VR_INLINE void vr_step_route(const struct vr_ip *h, uint64_t route)
{
	(void)route;
	if (h->version == 6) {
		VR_STEP(target6, h->daddr.hi, h->daddr.lo);
		VR_STEP(route6, route, 0);
	} else {
		VR_STEP(route, route, h->daddr.hi >> 32);
	}
}

/* The route of a packet in a network, 0 if there is none. */
VR_INLINE uint64_t vr_find_route(const struct vr_tables *t, const struct vr_vrf *vrf,
				 const struct vr_ip *h)
{
	uint32_t root = h->version == 6 ? VR_READ_ONCE(vrf->root6) : VR_READ_ONCE(vrf->root4);

	return vr_route_lookup(t, root, h->daddr);
}

/* The nexthop that a route comes to. Without one the packet is lost, and the verdict says why. */
VR_INLINE const struct vr_nh *vr_route_nh(const struct vr_tables *t, const struct vr_ip *h,
					  uint32_t seed, enum vr_members members, uint64_t *route,
					  struct vr_verdict *v)
{
	const struct vr_nh *nh = vr_nh_at(t, VR_ROUTE_REF(*route));

	if (nh && VR_NH_LEADS_ON(nh)) {
		*route = vr_follow(t, *route, h->daddr, vr_flow_hash(h, seed),
				   VR_FOLLOW(h->version, members));
		if (*route & VR_FOLLOW_LOST) {
			vr_drop_it(v, (enum vr_drop)VR_FOLLOW_REASON(*route));
			return 0;
		}
		nh = vr_nh_at(t, VR_ROUTE_REF(*route));
	}
	if (!nh)
		vr_drop_it(v, VR_DROP_bad_nexthop);
	return nh;
}

VR_INLINE void vr_decide_route(const struct vr_tables *t, const struct vr_frame *f,
			       const struct vr_ip *h, const struct vr_vrf *vrf,
			       struct vr_verdict *v)
{
	const uint32_t seed = (uint32_t)vrf->id; /* the same on all nodes */
	uint64_t route = vr_find_route(t, vrf, h);
	const struct vr_nh *nh;

	if (!route)
		return vr_drop_it(v, VR_DROP_no_route);
	vr_step_route(h, route);
	nh = vr_route_nh(t, h, seed, VR_ANY_MEMBER, &route, v);
	if (!nh)
		return;
	vr_decide_nh(f, h, nh, 1, v);
	if (v->op == VR_OP_TUNNEL) {
		v->push.label = VR_ROUTE_LABEL(route);
		v->push.sport = vr_entropy_port(h, seed);
		v->push.length = f->length - VR_ETH_LEN;
		v->push.version = h->version;
		v->push.tos = h->tos & 3; /* RFC 6040, section 4.1: normal mode copies ECN */
	}
	v->routed = v->op == VR_OP_TUNNEL || v->op == VR_OP_ENCAP;
	if (v->routed && h->syn && VR_READ_ONCE(vrf->flags) & VR_VRF_MSS_CLAMP) {
		v->header = h->header;
		v->mss = vr_decide_mss(VR_READ_ONCE(v->nh->mtu),
				       h->version == 6 ? VR_IP6_LEN : VR_IP4_LEN);
	}
}

/* Whether the source is not the port's own, or the packet is not to be forwarded at all. */
VR_INLINE int vr_decide_source(const struct vr_tables *t, const struct vr_frame *f,
			       const struct vr_ip *h, const struct vr_vif *vif,
			       const struct vr_vrf *vrf, struct vr_verdict *v)
{
	if (h->version == 6)
		return vr_decide_link(t, f, h, vif, vrf, v);
	if (vr_owns(t, vif, vrf, h->saddr, 0))
		return 0;
	vr_drop_it(v, VR_DROP_spoofed_address);
	return 1;
}

VR_INLINE int vr_to_gateway(const struct vr_ip *h, const struct vr_vrf *vrf)
{
	return h->version == 6 ? vr_same_addr(h->daddr, vrf->gateway6)
			       : h->daddr.hi >> 32 == vrf->gateway;
}

VR_INLINE void vr_decide_vif_ip(const struct vr_tables *t, const struct vr_frame *f,
				uint8_t version, const struct vr_vif *vif, const struct vr_vrf *vrf,
				struct vr_verdict *v)
{
	const uint8_t *ip = f->data + VR_ETH_LEN;
	struct vr_ip h = {};
	enum vr_drop bad;

	if (ip + 1 > f->end)
		return vr_drop_it(v, VR_DROP_truncated);
	if (ip[0] >> 4 != version)
		return vr_drop_it(v, VR_DROP_bad_header);
	bad = vr_parse_at(f, VR_ETH_LEN, &h);
	if (bad)
		return vr_drop_it(v, bad);
	v->version = version;
	if (vr_decide_source(t, f, &h, vif, vrf, v))
		return;
	if (h.tunnel)
		return vr_drop_it(v, VR_DROP_tenant_tunnel);
	vr_step_source(&h);
	if (f->data[0] & 1 || vr_is_multicast(&h))
		return vr_drop_it(v, VR_DROP_multicast);
	if (vr_get_mac(f->data) != vr_mac_bits(vrf->gateway_mac))
		return vr_drop_it(v, VR_DROP_not_gateway_mac);
	VR_STEP(ttl, h.ttl, 0);
	if (h.ttl <= 1 && !vr_to_gateway(&h, vrf))
		return vr_drop_it(v, VR_DROP_ttl_expired);
	vr_decide_route(t, f, &h, vrf, v);
}

/* In a network that is one link, what is not for the gateway: vr_bridge.h. */
VR_INLINE void vr_decide_bridge(const struct vr_tables *t, const struct vr_frame *f,
				const struct vr_vif *vif, const struct vr_vrf *vrf,
				struct vr_verdict *v);

/* A frame from a container. Every one ends here: nothing of a tenant reaches the host's stack. */
VR_INLINE void vr_decide_vif(const struct vr_tables *t, const struct vr_frame *f,
			     const struct vr_vif *vif, struct vr_verdict *v)
{
	const struct vr_vrf *vrf = vr_vrf_at(t, vif->vrf);
	int bridged;

	v->routed = 0;
	v->vrf = vrf;
	if (f->data + VR_ETH_LEN > f->end)
		return vr_drop_it(v, VR_DROP_truncated);
	if (!vrf || vr_mac_bits(vif->mac) == 0)
		return vr_drop_it(v, VR_DROP_unknown_vif);
	if (vr_get_mac(f->data + 6) != vr_mac_bits(vif->mac))
		return vr_drop_it(v, VR_DROP_spoofed_mac);
	bridged = VR_READ_ONCE(vrf->flags) & VR_VRF_BRIDGE &&
		  vr_get_mac(f->data) != vr_mac_bits(vrf->gateway_mac);
	if (vr_get16(f->data + 12) == VR_ETHERTYPE_ARP && vr_decide_arp(t, f, vif, vrf, bridged, v))
		return;
	if (bridged)
		return vr_decide_bridge(t, f, vif, vrf, v);
	switch (vr_get16(f->data + 12)) {
	case VR_ETHERTYPE_IP4:
		return vr_decide_vif_ip(t, f, 4, vif, vrf, v);
	case VR_ETHERTYPE_IP6:
		return vr_decide_vif_ip(t, f, 6, vif, vrf, v);
	case 0x8100:
	case 0x88a8:
		return vr_drop_it(v, VR_DROP_vlan);
	default:
		return vr_drop_it(v, VR_DROP_not_ip);
	}
}

/*
 * The ECN field that an inner packet leaves a tunnel with: RFC 6040, figure 4. Congestion marked
 * outside (3) is carried over, except to a packet that cannot carry it: that one is dropped.
 */
VR_INLINE int vr_ecn_decapsulate(uint8_t outer, uint8_t inner)
{
	outer &= 3;
	inner &= 3;
	if (outer == 3)
		return inner == 0 ? -1 : 3;
	if (outer == 1 && inner == 2)
		return 1;
	return inner;
}

/* A tunnel's headers: how many bytes they are behind the outer Ethernet header, and what their
 * label or VNI names. */
struct vr_wrap {
	const struct vr_nh *nh;	  /* of the label, if it is a port's */
	const struct vr_vrf *vrf; /* of the VNI, or of the label */
	uint64_t dmac;		  /* of the inner Ethernet header, with a network */
	uint32_t vrf_index;
	uint32_t length;
	uint16_t type;
	uint8_t bridge;	 /* the network is one link, and the frame is not for the gateway */
	uint8_t version; /* of the inner packet, as the Ethernet header says; with a VNI */
};

/* A label that names a network, not a port (RFC 4364, section 4.3.2): whom the packet is for is
 * looked up there, as with a VNI. There is no inner Ethernet header that could be wrong. */
VR_INLINE enum vr_drop vr_unwrap_network(const struct vr_tables *t, struct vr_wrap *w)
{
	uint32_t vrf = VR_NH_VRF(w->nh);

	w->vrf = vr_vrf_at(t, vrf);
	w->nh = 0;
	if (!w->vrf || vrf == VR_FABRIC_VRF)
		return VR_DROP_bad_nexthop;
	w->dmac = vr_mac_bits(w->vrf->gateway_mac);
	return VR_DROP_NONE;
}

/* MPLS: the label at the given offset names the port, or the network. */
VR_INLINE enum vr_drop vr_unwrap_label(const struct vr_tables *t, const struct vr_frame *f,
				       uint32_t offset, struct vr_wrap *w)
{
	const uint8_t *at = f->data + offset;
	struct vr_label_entry l;

	if (at + VR_LABEL_LEN > f->end)
		return VR_DROP_truncated;
	l = vr_parse_label(at);
	if (!l.bottom)
		return VR_DROP_label_stack;
	if (l.ttl == 0)
		return VR_DROP_label_ttl;
	w->nh = vr_label_lookup(t, l.label);
	w->length = offset + VR_LABEL_LEN - VR_ETH_LEN;
	if (!w->nh)
		return VR_DROP_unknown_label;
	VR_STEP(label, l.label, 0);
	return w->nh->type == VR_NH_TRANSLATE ? vr_unwrap_network(t, w) : VR_DROP_NONE;
}

/* RFC 4023, section 3.2: MPLS needs none of GRE's optional fields. */
VR_INLINE enum vr_drop vr_unwrap_gre(const struct vr_tables *t, const struct vr_frame *f,
				     uint32_t offset, struct vr_wrap *w)
{
	const uint8_t *gre = f->data + offset;

	if (gre + VR_GRE_LEN > f->end)
		return VR_DROP_truncated;
	if (vr_get16(gre) != 0)
		return VR_DROP_gre_flags;
	return vr_unwrap_label(t, f, offset + VR_GRE_LEN, w);
}

/* The inner Ethernet header: 14 bytes, which are there. */
VR_INLINE void vr_unwrap_eth(const uint8_t *at, struct vr_wrap *w)
{
	w->dmac = vr_get_mac(at);
	w->type = vr_get16(at + 12);
	w->version = vr_version_of(w->type);
	w->bridge = VR_READ_ONCE(w->vrf->flags) & VR_VRF_BRIDGE &&
		    w->dmac != vr_mac_bits(w->vrf->gateway_mac);
}

/* RFC 7348, section 5: the I flag must be set, all other reserved bits are ignored; a frame with a
 * VLAN tag is none of ours (section 6.1). The VNI names the network. */
VR_INLINE enum vr_drop vr_unwrap_vxlan(const struct vr_tables *t, const struct vr_frame *f,
				       uint32_t offset, struct vr_wrap *w)
{
	const uint8_t *vxlan = f->data + offset;

	if (vxlan + VR_VXLAN_LEN + VR_ETH_LEN > f->end)
		return VR_DROP_truncated;
	if (!(vxlan[0] & 0x08))
		return VR_DROP_vxlan_flags;
	w->vrf_index = vr_vni_lookup(t, vr_get32(vxlan + 4) >> 8);
	w->vrf = w->vrf_index ? vr_vrf_at(t, w->vrf_index) : 0;
	if (!w->vrf)
		return VR_DROP_unknown_vni;
	VR_STEP(vni, vr_get32(vxlan + 4) >> 8, 0);
	w->length = offset + VR_VXLAN_LEN;
	vr_unwrap_eth(vxlan + VR_VXLAN_LEN, w);
	return w->version || w->bridge ? VR_DROP_NONE : VR_DROP_inner_not_ip;
}

/* Whom a packet is for that came into a network: a port of this node, addressed to the gateway,
 * which is how nodes send, or to the port itself. */
VR_INLINE const struct vr_nh *vr_decide_vni(const struct vr_tables *t, const struct vr_wrap *w,
					    const struct vr_ip *h, struct vr_verdict *v)
{
	uint64_t route = vr_find_route(t, w->vrf, h);
	const struct vr_nh *nh = 0;

	if (w->dmac & 1) { /* a group's address */
		vr_drop_it(v, VR_DROP_inner_wrong_mac);
		return 0;
	}
	if (route) {
		vr_step_route(h, route);
		nh = vr_route_nh(t, h, VR_FABRIC_SEED, VR_LOCAL_MEMBER, &route, v);
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
	else if (vr_parse_at(f, VR_ETH_LEN + w->length, h))
		bad = VR_DROP_inner_bad_header;
	else if (h->tunnel)
		bad = VR_DROP_inner_tunnel;
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
	if (!nh)
		nh = vr_decide_vni(t, w, &h, v);
	if (!nh)
		return;
	v->pop = (uint8_t)w->length;
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

/*
 * Whether a tunnel's packet has a checksum where it must. Over IPv4 a sender may leave it out (RFC
 * 7510, section 3; RFC 7348, section 5). Over IPv6 a tunnel may, too (RFC 6935, section 5), if both
 * addresses are known to be a tunnel's (RFC 7510, section 3.1, d): nothing else tells that one was
 * damaged. Only the tunnels' ports are let off so: all others are the host's stack's, which drops
 * what has none. What a checksum says is not looked at: the inner packet has its own.
 */
VR_INLINE enum vr_drop vr_outer_checked(const struct vr_tables *t, const struct vr_frame *f,
					const struct vr_ip *outer)
{
	const uint8_t *udp = f->data + VR_ETH_LEN + VR_IP6_LEN;
	const struct vr_vrf *peers;

	if (outer->version != 6 || outer->proto != VR_PROTO_UDP)
		return VR_DROP_NONE;
	if (udp + VR_UDP_LEN > f->end)
		return VR_DROP_truncated;
	if (vr_raw16(udp + 6))
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

#include "vr_bridge.h"

#endif
