/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Nexthops that lead on: to another network's routes, or to one of several ways. Both end at a
 * nexthop that does something with the packet: a translation leads to routes once, and a group's
 * ways are final, so there is nothing that could go round in circles.
 */
#ifndef VR_NEXTHOP_H
#define VR_NEXTHOP_H

#include "vr_ip6.h"
#include "vr_lookup.h"
#include "vr_trace.h"

/* An address in 32 bits: IPv4 as it is, IPv6 mixed (by the golden ratio: Knuth, volume 3, 6.4). */
VR_INLINE uint32_t vr_addr_fold(struct vr_addr a)
{
	uint64_t mixed = a.hi ^ a.lo * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)mixed ^ (uint32_t)(mixed >> 32);
}

/*
 * The same for all packets of a flow. A fragment is told by its addresses alone: its siblings show
 * no ports, and behind IPv6 extension headers not even the same protocol (RFC 8200, section 4.5).
 * The mixing is the final step of Jenkins' lookup3, which is in the public domain.
 */
VR_INLINE uint32_t vr_flow_hash(const struct vr_ip *h, uint32_t seed)
{
	uint32_t a = vr_addr_fold(h->saddr);
	uint32_t b = vr_addr_fold(h->daddr) + (h->fragment ? 0 : (uint32_t)h->proto << 8) + seed;
	uint32_t c = (uint32_t)h->sport << 16 | h->dport;

#define VR_ROT(x, k) ((x) << (k) | (x) >> (32 - (k)))
	c = (c ^ b) - VR_ROT(b, 14);
	a = (a ^ c) - VR_ROT(c, 11);
	b = (b ^ a) - VR_ROT(a, 25);
	c = (c ^ b) - VR_ROT(b, 16);
	a = (a ^ c) - VR_ROT(c, 4);
	b = (b ^ a) - VR_ROT(a, 14);
	c = (c ^ b) - VR_ROT(b, 24);
#undef VR_ROT
	return c;
}

/* The outer UDP source port: 49152 to 65535 (RFC 7510, section 3), so that the underlay spreads
 * flows and keeps each in order. */
VR_INLINE uint16_t vr_entropy_port(const struct vr_ip *h, uint32_t seed)
{
	return (uint16_t)(0xc000 | (vr_flow_hash(h, seed) & 0x3fff));
}

/* The bucket of a flow in a group: bits that the entropy port does not have, or else the flows of
 * one member would share a part of the ports, and the underlay would spread them over less. */
VR_INLINE uint32_t vr_bucket(uint32_t hash)
{
	return hash >> (32 - VR_GROUP_BUCKET_BITS);
}

/* What the nodes' choices are seeded with where a packet came by a tunnel: the node that sent it
 * has chosen by the same hash, and all that it sends here would have the same few members again. */
#define VR_FABRIC_SEED 0x10000

/* What vr_follow is told besides the packet: the members that may be chosen, and the family. */
#define VR_FOLLOW(version, members) ((uint32_t)(members) | (uint32_t)((version) == 6) << 1)

/* Instead of a route: the packet is lost, and why. */
#define VR_FOLLOW_LOST VR_ROUTE_CHILD
#define VR_FOLLOW_REASON(entry) ((uint32_t)(entry) & 0xffu)

VR_INLINE uint64_t vr_follow_lost(enum vr_drop reason)
{
	return VR_FOLLOW_LOST | (uint64_t)reason;
}

/* The route in the network that a nexthop names. The fabric's own table is no network. */
VR_INLINE uint64_t vr_translate(const struct vr_tables *t, const struct vr_nh *nh, struct vr_addr a,
				int six)
{
	const struct vr_vrf *vrf = vr_vrf_at(t, VR_NH_VRF(nh));
	uint64_t route;

	if (!vrf || VR_NH_VRF(nh) == VR_FABRIC_VRF)
		return vr_follow_lost(VR_DROP_bad_nexthop);
	VR_STEP(translate, VR_NH_VRF(nh), 0);
	route = vr_route_lookup(t, six ? VR_READ_ONCE(vrf->root6) : VR_READ_ONCE(vrf->root4), a);
	if (!route)
		return vr_follow_lost(VR_DROP_no_route);
	if (six)
		VR_STEP(route6, route, 0);
	else
		VR_STEP(route, route, a.hi >> 32);
	return route;
}

/* The way that a flow has among several. */
VR_INLINE uint64_t vr_choose(const struct vr_tables *t, const struct vr_nh *nh, uint32_t hash,
			     uint32_t members)
{
	const struct vr_group *g = vr_group_at(t, VR_NH_GROUP(nh));
	uint32_t bucket = vr_bucket(hash), member;
	uint64_t way;

	if (!g)
		return vr_follow_lost(VR_DROP_bad_nexthop);
	member = VR_READ_ONCE(g->buckets[members & 1][bucket]);
	if (member >= VR_GROUP_MEMBERS)
		return vr_follow_lost(VR_DROP_not_here);
	way = VR_READ_ONCE(g->members[member]);
	if (!way)
		return vr_follow_lost(VR_DROP_bad_nexthop);
	VR_STEP(member, way, bucket);
	return way;
}

/* What a route comes to, for a packet to an address: a route again, or VR_FOLLOW_LOST. Plain
 * numbers only, so that it can be a function of its own for the verifier. */
VR_INLINE uint64_t vr_follow_find(const struct vr_tables *t, uint64_t route, struct vr_addr a,
				  uint32_t hash, uint32_t how)
{
	const struct vr_nh *nh = vr_nh_at(t, VR_ROUTE_REF(route));

	if (nh && nh->type == VR_NH_TRANSLATE) {
		route = vr_translate(t, nh, a, how >> 1 & 1);
		if (route & VR_FOLLOW_LOST)
			return route;
		nh = vr_nh_at(t, VR_ROUTE_REF(route));
		if (nh && nh->type == VR_NH_TRANSLATE)
			return vr_follow_lost(VR_DROP_translated_twice);
	}
	if (nh && nh->type == VR_NH_ECMP)
		return vr_choose(t, nh, hash, how & 1);
	return route;
}

/* Whether a nexthop delivers to the vif of an interface. */
VR_INLINE int vr_delivers(const struct vr_nh *nh, uint32_t ifindex)
{
	return nh && nh->type == VR_NH_ENCAP && !(nh->flags & VR_NH_FABRIC) &&
	       nh->ifindex == ifindex;
}

/* Whether the route to an address leads to a vif, by itself or as one of several ways. */
VR_INLINE int vr_leads_find(const struct vr_tables *t, uint32_t root, struct vr_addr a,
			    uint32_t ifindex)
{
	uint64_t route = vr_route_lookup(t, root, a);
	const struct vr_nh *nh = route ? vr_nh_at(t, VR_ROUTE_REF(route)) : 0;
	const struct vr_group *g;

	if (!nh || nh->type != VR_NH_ECMP)
		return vr_delivers(nh, ifindex);
	g = vr_group_at(t, VR_NH_GROUP(nh));
#pragma nounroll
	for (uint32_t i = 0; g && i < VR_GROUP_MEMBERS; i++) {
		uint64_t way = VR_READ_ONCE(g->members[i]);

		if (way && vr_delivers(vr_nh_at(t, VR_ROUTE_REF(way)), ifindex))
			return 1;
	}
	return 0;
}

/* A mover that has tables of its own has these of its own, too. */
VR_INLINE uint64_t vr_follow(const struct vr_tables *t, uint64_t route, struct vr_addr a,
			     uint32_t hash, uint32_t how);
VR_INLINE int vr_leads(const struct vr_tables *t, uint32_t root, struct vr_addr a,
		       uint32_t ifindex);
#ifndef VR_TABLES_OWN
VR_INLINE uint64_t vr_follow(const struct vr_tables *t, uint64_t route, struct vr_addr a,
			     uint32_t hash, uint32_t how)
{
	return vr_follow_find(t, route, a, hash, how);
}

VR_INLINE int vr_leads(const struct vr_tables *t, uint32_t root, struct vr_addr a, uint32_t ifindex)
{
	return vr_leads_find(t, root, a, ifindex);
}
#endif

/* What no host may have as its source, whatever a short prefix covers: "this" network, loopback and
 * multicast (RFC 1122, section 3.2.1.3; RFC 4291, sections 2.5.2, 2.5.3 and 2.7). */
VR_INLINE int vr_is_no_host(struct vr_addr a, int six)
{
	uint64_t first = a.hi >> 56;

	return six ? first == 0 || first == 0xff : first == 0 || first == 127 || first >= 224;
}

/*
 * Whether an address is a port's own: the one that it was given, or one that the routes of its
 * network lead to it by (the strict reverse path of RFC 3704, section 2.2), which is how several
 * ports serve one address. Of those it may be the source, and nobody else asks for it.
 */
VR_INLINE int vr_owns(const struct vr_tables *t, const struct vr_vif *vif, const struct vr_vrf *vrf,
		      struct vr_addr a, int six)
{
	if (six ? a.hi == vif->address6.hi && a.lo == vif->address6.lo : a.hi >> 32 == vif->address)
		return 1;
	if (vr_is_no_host(a, six))
		return 0;
	return vr_leads(t, six ? VR_READ_ONCE(vrf->root6) : VR_READ_ONCE(vrf->root4), a,
			vif->ifindex);
}

#endif
