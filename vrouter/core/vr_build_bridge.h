/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames that keep their own Ethernet header: as in vr_build.h, pure. */
#ifndef VR_BUILD_BRIDGE_H
#define VR_BUILD_BRIDGE_H

#include "vr_build_tunnel.h"
#include "vr_verdict.h"

/* A frame's own Ethernet header. In a tunnel's packet it is as far into it as the tunnel's bytes
 * behind the outer one: it is the last of those. */
struct vr_eth {
	uint64_t dmac;
	uint64_t smac;
	uint16_t type;
	uint16_t reserved[3];
};

VR_INLINE void vr_read_eth(const uint8_t *at, struct vr_eth *eth)
{
	eth->dmac = vr_get_mac(at);
	eth->smac = vr_get_mac(at + 6);
	eth->type = vr_get16(at + 12);
}

/* 14 bytes: a frame's own Ethernet header. */
VR_INLINE void vr_build_own_eth(uint8_t *out, const struct vr_eth *eth)
{
	vr_put_mac(out, eth->dmac);
	vr_put_mac(out + 6, eth->smac);
	vr_put16(out + 12, eth->type);
}

/*
 * The shortest frame that comes out of a tunnel. The kernel leaves no less behind an Ethernet
 * header than an IPv4 one has (bpf_skb_adjust_room in net/core/filter.c), so a shorter one, which
 * holds no IP, gets zeros at its end, as on any Ethernet (IEEE 802.3, section 3.2.8): PPPoE's and
 * 802.1X's are that short where a virtual interface has not padded them.
 */
#define VR_FRAME_LEAST (VR_ETH_LEN + VR_IP4_LEN)

/* As vr_build_tunnel, the last 14 bytes the frame's own. */
VR_INLINE void vr_build_frame(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
			      const struct vr_eth *eth, uint32_t ip, enum vr_encapsulation kind)
{
	vr_build_tunnel(out, nh, p, ip, kind);
	vr_build_own_eth(out + ip + vr_wrap_length(kind), eth);
}

/* As VR_BY_TUNNEL, of those that carry whole frames. */
#define VR_BY_FRAME_TUNNEL(nh, one) VR_BY_OUTER(nh, VR_BY_FRAME_KIND, one)
#define VR_BY_FRAME_KIND(nh, ip, one)                                                              \
	((nh)->encapsulation == VR_VXLAN	    ? one(ip, VR_VXLAN)                            \
	 : (nh)->encapsulation == VR_FRAME_MPLSOUDP ? one(ip, VR_FRAME_MPLSOUDP)                   \
	 : (nh)->encapsulation == VR_FRAME_MPLSOGRE ? one(ip, VR_FRAME_MPLSOGRE)                   \
	 : (nh)->encapsulation == VR_WORD_MPLSOUDP  ? one(ip, VR_WORD_MPLSOUDP)                    \
	 : (nh)->encapsulation == VR_WORD_MPLSOGRE  ? one(ip, VR_WORD_MPLSOGRE)                    \
						    : -1)

#endif
