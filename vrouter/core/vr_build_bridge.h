/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames that keep their own Ethernet header: as in vr_build.h, pure. */
#ifndef VR_BUILD_BRIDGE_H
#define VR_BUILD_BRIDGE_H

#include "vr_outer6.h"
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

/* What stands before a frame in VXLAN, behind the outer IP header. */
#define VR_VXLAN_FRAME (VR_UDP_LEN + VR_VXLAN_LEN)

/* 64 bytes: as vr_build_vxlan, the last 14 the frame's own. */
VR_INLINE void vr_build_bridge_vxlan(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
				     const struct vr_eth *eth)
{
	vr_build_vxlan(out, nh, p);
	vr_build_own_eth(out + VR_ETH_LEN + VR_IP4_LEN + VR_VXLAN_FRAME, eth);
}

/* 84 bytes. */
VR_INLINE void vr_build_bridge_vxlan6(uint8_t *out, const struct vr_nh *nh, const struct vr_push *p,
				      const struct vr_eth *eth)
{
	vr_build_vxlan6(out, nh, p);
	vr_build_own_eth(out + VR_ETH_LEN + VR_IP6_LEN + VR_VXLAN_FRAME, eth);
}

#endif
