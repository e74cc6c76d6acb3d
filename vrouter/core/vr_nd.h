/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a container asks its neighbours by IPv6: RFC 4861. The gateway answers for all of them, as
 * it does with ARP. */
#ifndef VR_ND_H
#define VR_ND_H

#include "vr_nexthop.h"
#include "vr_verdict.h"

/* ICMPv6 types: RFC 4861, section 4, RFC 2710, section 3, and RFC 3810, section 5. */
#define VR_ND_ROUTER_SOLICITATION 133
#define VR_ND_SOLICITATION 135
#define VR_ND_ADVERTISEMENT 136
#define VR_ND_REDIRECT 137
#define VR_MLD_QUERY 130
#define VR_MLD_DONE 132
#define VR_MLD2_REPORT 143

#define VR_ND_SOLICITATION_LEN 24  /* without options */
#define VR_ND_ADVERTISEMENT_LEN 32 /* with the target's MAC */

VR_INLINE int vr_is_mld(uint8_t type)
{
	return (type >= VR_MLD_QUERY && type <= VR_MLD_DONE) || type == VR_MLD2_REPORT;
}

/* Messages that never leave a link. */
VR_INLINE int vr_is_nd(uint8_t type)
{
	return (type >= VR_ND_ROUTER_SOLICITATION && type <= VR_ND_REDIRECT) || vr_is_mld(type);
}

/* A solicitation that is answered asks for an address of the network, other than the port's own;
 * and it is none of duplicate address detection (no source yet: RFC 4862, section 5.4.2), which
 * ends well when nobody answers. */
VR_INLINE void vr_decide_solicitation(const struct vr_tables *t, const struct vr_frame *f,
				      const struct vr_ip *h, const struct vr_vif *vif,
				      const struct vr_vrf *vrf, struct vr_verdict *v)
{
	const uint8_t *icmp = f->data + VR_ETH_LEN + VR_IP6_LEN;
	struct vr_addr target;

	if (h->header != VR_IP6_LEN || h->ttl != 255 ||
	    h->total < VR_IP6_LEN + VR_ND_SOLICITATION_LEN)
		return vr_drop_it(v, VR_DROP_nd_malformed); /* RFC 4861, section 7.1.1 */
	if (icmp + VR_ND_SOLICITATION_LEN > f->end)
		return vr_drop_it(v, VR_DROP_truncated);
	if (icmp[1] != 0)
		return vr_drop_it(v, VR_DROP_nd_malformed);
	if (vr_is_zero(h->saddr))
		return vr_drop_it(v, VR_DROP_nd_probe);
	if (!vr_is_link_local(h->saddr) && !vr_owns(t, vif, vrf, h->saddr, 1))
		return vr_drop_it(v, VR_DROP_spoofed_address);
	target = vr_get_addr(icmp + 8);
	VR_STEP(nd, target.hi, target.lo);
	if (vr_owns(t, vif, vrf, target, 1))
		return vr_drop_it(v, VR_DROP_nd_own_address);
	target.hi &= vrf->mask6.hi;
	target.lo &= vrf->mask6.lo;
	if (!vr_same_addr(target, vrf->subnet6))
		return vr_drop_it(v, VR_DROP_nd_outside);
	v->op = VR_OP_ND;
}

VR_INLINE void vr_decide_nd(const struct vr_tables *t, const struct vr_frame *f,
			    const struct vr_ip *h, const struct vr_vif *vif,
			    const struct vr_vrf *vrf, struct vr_verdict *v)
{
	if (vr_is_mld(h->icmp))
		return vr_drop_it(v, VR_DROP_mld);
	if (h->icmp == VR_ND_ROUTER_SOLICITATION)
		return vr_drop_it(v, VR_DROP_router_solicitation);
	if (h->icmp != VR_ND_SOLICITATION)
		return vr_drop_it(v, VR_DROP_nd_not_solicitation);
	vr_decide_solicitation(t, f, h, vif, vrf, v);
}

/* Whether a container's IPv6 packet is decided here already: what is for its link, and whose source
 * is not its own. Link-local addresses are for neighbour discovery only, as no router forwards them
 * (RFC 4291, section 2.5.6). */
VR_INLINE int vr_decide_link(const struct vr_tables *t, const struct vr_frame *f,
			     const struct vr_ip *h, const struct vr_vif *vif,
			     const struct vr_vrf *vrf, struct vr_verdict *v)
{
	if (vr_is_zero(vif->address6))
		vr_drop_it(v, VR_DROP_no_ipv6);
	else if (h->proto == VR_PROTO_ICMP6 && !h->later && vr_is_nd(h->icmp))
		vr_decide_nd(t, f, h, vif, vrf, v);
	else if (vr_is_link_local(h->saddr))
		vr_drop_it(v, VR_DROP_link_local);
	else if (!vr_owns(t, vif, vrf, h->saddr, 1))
		vr_drop_it(v, VR_DROP_spoofed_address);
	else
		return 0;
	return 1;
}

#endif
