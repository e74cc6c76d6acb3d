/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The way of an IP packet, wherever it came from: its route, whether it fits, and what the nexthop
 * does with it.
 */
#ifndef VR_DECIDE_WAY_H
#define VR_DECIDE_WAY_H

#include "vr_mss.h"
#include "vr_nexthop.h"
#include "vr_quote.h"
#include "vr_verdict.h"

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
	uint64_t route = 0;

	if (h->version == 4 && VR_READ_ONCE(vrf->flags) & VR_VRF_HOSTS)
		route = vr_host_find(t, vrf->slot, (uint32_t)(h->daddr.hi >> 32));
	return route ? route : vr_route_lookup(t, root, h->daddr);
}

/* The nexthop that a route comes to. Without one the packet is lost, and the verdict says why. */
VR_INLINE const struct vr_nh *vr_route_nh(const struct vr_tables *t, const struct vr_frame *f,
					  const struct vr_ip *h, uint32_t seed,
					  enum vr_members members, uint64_t *route,
					  struct vr_verdict *v)
{
	const struct vr_nh *nh = vr_nh_at(t, VR_ROUTE_REF(*route));

	if (nh && VR_NH_LEADS_ON(nh)) {
		*route =
		    vr_follow(t, *route, h->daddr, vr_way_hash(f, VR_ETH_LEN + v->pop, h, seed),
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
	nh = vr_route_nh(t, f, h, seed, VR_ANY_MEMBER, &route, v);
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

#endif
