/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The answers to IPv6: as in vr_build.h, pure. */
#ifndef VR_BUILD6_H
#define VR_BUILD6_H

#include "vr_build.h"
#include "vr_nd.h"

VR_INLINE void vr_copy_addr(uint8_t *to, const uint8_t *from)
{
	vr_build_template(to, from, 16);
}

VR_INLINE void vr_put_addr(uint8_t *p, struct vr_addr a)
{
	vr_put32(p, (uint32_t)(a.hi >> 32));
	vr_put32(p + 4, (uint32_t)a.hi);
	vr_put32(p + 8, (uint32_t)(a.lo >> 32));
	vr_put32(p + 12, (uint32_t)a.lo);
}

/* The checksum of an ICMPv6 message of so many bytes, known when this is compiled and a multiple of
 * 4, behind the header at ip; its own field is 0: RFC 8200, section 8.1. */
VR_INLINE uint16_t vr_icmp6_csum(const uint8_t *ip, uint32_t bytes)
{
	uint64_t sum = (uint64_t)__builtin_bswap32(bytes) + __builtin_bswap32(VR_PROTO_ICMP6);

#pragma unroll
	for (uint32_t i = 8; i < VR_IP6_LEN + bytes; i += 4)
		sum += vr_raw32(ip + i);
	return (uint16_t)~vr_csum_fold(sum);
}

/* 40 bytes but for the addresses: the header of an ICMPv6 message. */
VR_INLINE void vr_build_icmp6(uint8_t *ip, uint16_t bytes, uint8_t hops)
{
	vr_put32(ip, 0x60000000);
	vr_put16(ip + 4, bytes);
	ip[6] = VR_PROTO_ICMP6;
	ip[7] = hops;
}

#define VR_ADVERTISED_LEN (VR_ETH_LEN + VR_IP6_LEN + VR_ND_ADVERTISEMENT_LEN)

/* In place, 86 bytes of which the first 78 hold a solicitation: it becomes the answer "it is at
 * mac". From a router (R), solicited (S), overriding what was known (O): RFC 4861, section 4.4. */
VR_INLINE void vr_build_advertisement(uint8_t *frame, uint64_t mac)
{
	uint8_t *ip = frame + VR_ETH_LEN, *icmp = ip + VR_IP6_LEN;
	uint64_t asker = vr_get_mac(frame + 6);

	vr_put_mac(frame, asker);
	vr_put_mac(frame + 6, mac);
	vr_build_icmp6(ip, VR_ND_ADVERTISEMENT_LEN, 255);
	vr_copy_addr(ip + 24, ip + 8);
	vr_copy_addr(ip + 8, icmp + 8);
	vr_put32(icmp, (uint32_t)VR_ND_ADVERTISEMENT << 24);
	vr_put32(icmp + 4, 0xe0000000);
	vr_put16(icmp + 24, 0x0201); /* the target's address, 8 bytes: section 4.6.1 */
	vr_put_mac(icmp + 26, mac);
	vr_put_raw16(icmp + 2, vr_icmp6_csum(ip, VR_ND_ADVERTISEMENT_LEN));
}

/* In place, 62 bytes: the echo request in the frame becomes its reply. Swapping the addresses
 * leaves the checksum as it was; the type's change is added to it. */
VR_INLINE void vr_build_echo6_reply(uint8_t *frame)
{
	uint8_t *ip = frame + VR_ETH_LEN, *icmp = ip + VR_IP6_LEN;
	uint64_t dmac = vr_get_mac(frame), smac = vr_get_mac(frame + 6);
	struct vr_addr saddr = vr_get_addr(ip + 8);

	vr_put_mac(frame, smac);
	vr_put_mac(frame + 6, dmac);
	vr_copy_addr(ip + 8, ip + 24);
	vr_put_addr(ip + 24, saddr);
	vr_put_raw16(icmp + 2, vr_csum_replace(vr_raw16(icmp + 2), 128, 129));
	vr_put_raw16(icmp, 129);
}

/* How much of the packet that was too big is quoted: its header, and the 20 bytes behind. */
#define VR_QUOTE6_LEN 60
#define VR_TOO_BIG6_LEN (VR_ETH_LEN + VR_IP6_LEN + VR_ICMP_LEN + VR_QUOTE6_LEN)

/* 62 bytes in front of the quote, which lies in place already: Ethernet, IPv6 and ICMPv6 "packet
 * too big" with the MTU of the next hop, to whom the quoted packet is from (RFC 4443, section 3.2).
 */
VR_INLINE void vr_build_too_big6(uint8_t *out, uint64_t dmac, uint64_t smac, struct vr_addr saddr,
				 uint32_t mtu)
{
	uint8_t *ip = out + VR_ETH_LEN, *icmp = ip + VR_IP6_LEN;

	vr_build_eth(out, dmac, smac, 6);
	vr_build_icmp6(ip, VR_ICMP_LEN + VR_QUOTE6_LEN, VR_OUTER_TTL);
	vr_put_addr(ip + 8, saddr);
	vr_copy_addr(ip + 24, icmp + VR_ICMP_LEN + 8);
	vr_put32(icmp, 0x02000000);
	vr_put32(icmp + 4, mtu);
	vr_put_raw16(icmp + 2, vr_icmp6_csum(ip, VR_ICMP_LEN + VR_QUOTE6_LEN));
}

#endif
