/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The headers of a tunnel, from the nexthop's template: as in vr_build.h, pure.
 *
 * The UDP checksum is 0, which tunnels may have over IPv6 (RFC 6935, section 5) where RFC 6936's
 * conditions hold: README.md says what that asks of the underlay, and vr_outer_checked of
 * receivers. A checksum of the packets that an aggregate is cut into cannot be made here
 * (control/poll.go says why); the poll mode, which has cut it before, fills it in (VR_NH_SUM).
 */
#ifndef VR_BUILD_TUNNEL_H
#define VR_BUILD_TUNNEL_H

#include "vr_build.h"

#define VR_LABEL_TTL 64
#define VR_IP4_MOST (0xffff - VR_IP4_LEN) /* bytes behind an IPv4 header */
#define VR_IP6_MOST 0xffff		  /* bytes behind an IPv6 header */

/*
 * 14 + 20 + wrap bytes: Ethernet, IPv4, and wrap bytes of encapsulation, before an inner packet.
 * The identification is 0, which a packet that is never fragmented may have: RFC 6864, section 4.1.
 * An aggregate longer than a header can say has the length 0 (see vr_parse_ip4).
 */
VR_INLINE uint8_t *vr_build_outer4(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
				   uint32_t wrap)
{
	uint8_t *ip = out + VR_ETH_LEN;
	uint32_t length = p->length + VR_IP4_LEN + wrap;
	uint16_t total = length > 0xffff ? 0 : (uint16_t)length;
	uint64_t sum = (uint64_t)nh->csum + __builtin_bswap16(total) + __builtin_bswap16(p->tos);

	vr_build_eth(out, VR_READ_ONCE(nh->dmac), nh->smac, 4);
	vr_build_template(ip, nh->header, VR_IP4_LEN + wrap);
	ip[1] = p->tos;
	vr_put16(ip + 2, total);
	vr_put_raw16(ip + 10, (uint16_t)~vr_csum_fold(sum));
	return ip + VR_IP4_LEN;
}

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

/* The UDP header's fields that the template leaves open. Its checksum stays 0, and so does a length
 * that is more than the IP header can say. */
VR_INLINE void vr_build_udp(uint8_t *udp, const struct vr_push *p, uint32_t wrap, uint32_t most)
{
	uint32_t length = p->length + wrap;

	vr_put16(udp, p->sport);
	vr_put16(udp + 4, length > most ? 0 : (uint16_t)length);
}

/* A stack of one label: RFC 3032, section 2.1. */
VR_INLINE void vr_build_label(uint8_t *at, uint32_t label)
{
	vr_put32(at, label << 12 | 1 << 8 | VR_LABEL_TTL);
}

/* The bytes of an encapsulation behind the outer IP header. */
VR_INLINE uint32_t vr_wrap_length(enum vr_encapsulation kind)
{
	switch (kind) {
	case VR_MPLSOUDP:
		return VR_MPLSOUDP_LEN;
	case VR_MPLSOGRE:
		return VR_MPLSOGRE_LEN;
	case VR_FRAME_MPLSOUDP:
		return VR_FRAME_MPLSOUDP_LEN;
	case VR_FRAME_MPLSOGRE:
		return VR_FRAME_MPLSOGRE_LEN;
	case VR_WORD_MPLSOUDP:
		return VR_WORD_MPLSOUDP_LEN;
	case VR_WORD_MPLSOGRE:
		return VR_WORD_MPLSOGRE_LEN;
	default:
		return VR_VXLAN_ALL_LEN;
	}
}

/* How far behind the outer IP header the label is; 0 without one. */
VR_INLINE uint32_t vr_label_at_byte(enum vr_encapsulation kind)
{
	switch (kind) {
	case VR_MPLSOUDP:
	case VR_FRAME_MPLSOUDP:
	case VR_WORD_MPLSOUDP:
		return VR_UDP_LEN;
	case VR_MPLSOGRE:
	case VR_FRAME_MPLSOGRE:
	case VR_WORD_MPLSOGRE:
		return VR_GRE_LEN;
	default:
		return 0;
	}
}

/* Whether the tunnel's headers have UDP. */
VR_INLINE int vr_has_udp(enum vr_encapsulation kind)
{
	return vr_label_at_byte(kind) != VR_GRE_LEN;
}

/* 14 bytes, the outer IP header's, and the encapsulation's. VXLAN's number, its inner Ethernet
 * header, which is for IPv4, and a control word, which is 0, are the template's. */
VR_INLINE void vr_build_tunnel(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
			       uint32_t ip, enum vr_encapsulation kind)
{
	const uint32_t wrap = vr_wrap_length(kind), label = vr_label_at_byte(kind);
	uint8_t *at = ip == VR_IP6_LEN ? vr_build_outer6(out, nh, p, wrap)
				       : vr_build_outer4(out, nh, p, wrap);

	if (vr_has_udp(kind))
		vr_build_udp(at, p, wrap, ip == VR_IP6_LEN ? VR_IP6_MOST : VR_IP4_MOST);
	if (label)
		vr_build_label(at + label, p->label);
	else if (p->version == 6)
		vr_put16(at + wrap - 2, VR_ETHERTYPE_IP6);
}

/*
 * one(ip, kind) for the outer IP header's bytes and the encapsulation of a nexthop's tunnel, or -1
 * if it has none. Both are known when this is compiled, which makes every length behind them one
 * that the verifier knows.
 */
#define VR_BY_TUNNEL(nh, one) VR_BY_OUTER(nh, VR_BY_ENCAPSULATION, one)
#define VR_BY_OUTER(nh, kinds, one)                                                                \
	((nh)->outer == VR_IP6_LEN ? kinds(nh, VR_IP6_LEN, one) : kinds(nh, VR_IP4_LEN, one))
#define VR_BY_ENCAPSULATION(nh, ip, one)                                                           \
	((nh)->encapsulation == VR_MPLSOUDP   ? one(ip, VR_MPLSOUDP)                               \
	 : (nh)->encapsulation == VR_MPLSOGRE ? one(ip, VR_MPLSOGRE)                               \
	 : (nh)->encapsulation == VR_VXLAN    ? one(ip, VR_VXLAN)                                  \
					      : -1)

#endif
