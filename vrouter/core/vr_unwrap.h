/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a tunnel's packet says before the packet inside it: the network or the port that it is for.
 */
#ifndef VR_UNWRAP_H
#define VR_UNWRAP_H

#include "vr_lookup.h"
#include "vr_trace.h"

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
	uint8_t version; /* of the inner packet, as the Ethernet header says, if there is one */
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

/* The inner Ethernet header: 14 bytes, which are there. A frame with a VLAN tag is none of ours. */
VR_INLINE enum vr_drop vr_unwrap_eth(const uint8_t *at, struct vr_wrap *w)
{
	w->dmac = vr_get_mac(at);
	w->type = vr_get16(at + 12);
	w->version = vr_version_of(w->type);
	w->bridge = VR_READ_ONCE(w->vrf->flags) & VR_VRF_BRIDGE &&
		    w->dmac != vr_mac_bits(w->vrf->gateway_mac);
	return w->version || w->bridge ? VR_DROP_NONE : VR_DROP_inner_not_ip;
}

/*
 * A label whose packets hold whole frames, of a network that is one link (RFC 7432, section 13).
 * Nothing in them says whether a control word comes first: a MAC address may begin with any bits,
 * so the two ends have to agree (section 18). The word's first four bits say that it is one (RFC
 * 4385, section 3); the rest is about order and fragments, neither of which Ethernet's have to use
 * (RFC 4448, section 4.6).
 */
VR_INLINE enum vr_drop vr_unwrap_frame(const struct vr_tables *t, const struct vr_frame *f,
				       struct vr_wrap *w)
{
	uint32_t offset = VR_ETH_LEN + w->length;

	w->vrf_index = VR_NH_VRF(w->nh);
	w->vrf = vr_vrf_at(t, w->vrf_index);
	if (!w->vrf || w->vrf_index == VR_FABRIC_VRF)
		return VR_DROP_bad_nexthop;
	if (w->nh->flags & VR_NH_WORD) {
		if (f->data + offset + 1 > f->end)
			return VR_DROP_truncated;
		if (f->data[offset] >> 4)
			return VR_DROP_control_word;
		offset += VR_WORD_LEN;
	}
	w->nh = 0;
	if (f->data + offset + VR_ETH_LEN > f->end)
		return VR_DROP_truncated;
	w->length = offset;
	return vr_unwrap_eth(f->data + offset, w);
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
	if (w->nh->type == VR_NH_FRAMES)
		return vr_unwrap_frame(t, f, w);
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
	return vr_unwrap_eth(vxlan + VR_VXLAN_LEN, w);
}

#endif
