/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tunnel headers over IPv6: as in vr_build.h, pure.
 *
 * The UDP checksum is 0, which tunnels may have over IPv6 (RFC 6935, section 5) where RFC 6936's
 * conditions hold: README.md says what that asks of the underlay, and vr_outer_checked of
 * receivers. A checksum of the packets that an aggregate is cut into cannot be made here
 * (config/validate.go says why).
 */
#ifndef VR_OUTER6_H
#define VR_OUTER6_H

#include "vr_build.h"

#define VR_IP6_MOST 0xffff /* bytes behind an IPv6 header */

/*
 * 14 + 40 + wrap bytes: Ethernet, IPv6, and wrap bytes of encapsulation, before an inner packet.
 * The flow label is the number that is the UDP source port: the same for all packets of a flow and
 * never 0, it lets the underlay tell flows without looking behind the header (RFC 6438, section 3;
 * RFC 6437, section 3), GRE's as well, which have no port. An aggregate longer than a header can
 * say has the length 0 (see vr_parse_ip6).
 */
VR_INLINE uint8_t *vr_build_outer6(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
				   uint32_t wrap)
{
	uint8_t *ip = out + VR_ETH_LEN;
	uint32_t length = p->length + wrap;

	vr_build_eth(out, VR_READ_ONCE(nh->dmac), nh->smac, 6);
	vr_build_template(ip, nh->header, VR_IP6_LEN + wrap);
	vr_put16(ip, (uint16_t)(0x6000 | (uint16_t)p->tos << 4));
	vr_put16(ip + 2, p->sport);
	vr_put16(ip + 4, length > VR_IP6_MOST ? 0 : (uint16_t)length);
	return ip + VR_IP6_LEN;
}

/* 66 bytes. */
VR_INLINE void vr_build_mplsoudp6(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p)
{
	uint8_t *udp = vr_build_outer6(out, nh, p, VR_MPLSOUDP_LEN);

	vr_build_udp(udp, p, VR_MPLSOUDP_LEN, VR_IP6_MOST);
	vr_build_label(udp + VR_UDP_LEN, p->label);
}

/* 62 bytes. */
VR_INLINE void vr_build_mplsogre6(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p)
{
	uint8_t *gre = vr_build_outer6(out, nh, p, VR_MPLSOGRE_LEN);

	vr_build_label(gre + VR_GRE_LEN, p->label);
}

/* 84 bytes: the VNI and the inner Ethernet header are the template's. */
VR_INLINE void vr_build_vxlan6(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p)
{
	uint8_t *udp = vr_build_outer6(out, nh, p, VR_VXLAN_ALL_LEN);

	vr_build_udp(udp, p, VR_VXLAN_ALL_LEN, VR_IP6_MOST);
	if (p->version == 6)
		vr_put16(udp + VR_VXLAN_ALL_LEN - 2, VR_ETHERTYPE_IP6);
}

#endif
