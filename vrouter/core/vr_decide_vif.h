/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What becomes of a frame from a container: whether it is who it says, and where it may go.
 */
#ifndef VR_DECIDE_VIF_H
#define VR_DECIDE_VIF_H

#include "vr_nd.h"
#include "vr_plain.h"

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
	if (vr_get_smac(f->data) != vr_mac_bits(vif->mac))
		return vr_drop_it(v, VR_DROP_spoofed_mac);
#ifndef VR_GENERAL_ONLY
	if (vr_plain_vif(t, f, vif, vrf, v))
		return;
#endif
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

#endif
