/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From a verdict to bytes. Pure: each function writes at out what its comment says. */
#ifndef VR_BUILD_H
#define VR_BUILD_H

#include "vr_parse.h"

#define VR_OUTER_TTL 64
#define VR_LABEL_TTL 64

/* 14 bytes: the Ethernet header of a nexthop. */
VR_INLINE void vr_build_eth(uint8_t *out, uint64_t dmac, uint64_t smac)
{
	vr_put_mac(out, dmac);
	vr_put_mac(out + 6, smac);
	vr_put16(out + 12, VR_ETHERTYPE_IP4);
}

/* The part of the outer header's checksum that every packet of a tunnel shares. The words are
 * summed as they lie in memory, RFC 1071, section 2 (B). */
VR_INLINE uint32_t vr_outer_csum(uint32_t saddr, uint32_t daddr)
{
	uint64_t sum = (uint64_t)__builtin_bswap16(0x4500) + __builtin_bswap16(VR_IP4_DF) +
		       __builtin_bswap16(VR_OUTER_TTL << 8 | VR_PROTO_UDP) +
		       __builtin_bswap32(saddr) + __builtin_bswap32(daddr);

	return vr_csum_fold(sum);
}

/* 46 bytes: Ethernet, IPv4, UDP and the label, before an inner packet of so many bytes. The
 * identification is 0, which a packet that is never fragmented may have: RFC 6864, section 4.1. */
VR_INLINE void vr_build_mplsoudp(uint8_t *out, const struct vr_nh *nh, uint32_t label, uint8_t tos,
				 uint16_t sport, uint32_t length)
{
	uint8_t *ip = out + VR_ETH_LEN, *udp = ip + VR_IP4_LEN;
	uint16_t total = (uint16_t)(length + VR_MPLSOUDP_LEN);
	uint64_t sum = (uint64_t)nh->csum + __builtin_bswap16(total) + __builtin_bswap16(tos);

	vr_build_eth(out, VR_READ_ONCE(nh->dmac), nh->smac);
	vr_put16(ip, (uint16_t)(0x4500 | tos));
	vr_put16(ip + 2, total);
	vr_put32(ip + 4, VR_IP4_DF);
	vr_put16(ip + 8, VR_OUTER_TTL << 8 | VR_PROTO_UDP);
	vr_put_raw16(ip + 10, (uint16_t)~vr_csum_fold(sum));
	vr_put32(ip + 12, nh->saddr);
	vr_put32(ip + 16, nh->daddr);
	vr_put16(udp, sport);
	vr_put16(udp + 2, VR_PORT_MPLSOUDP);
	vr_put16(udp + 4, (uint16_t)(total - VR_IP4_LEN));
	vr_put16(udp + 6, 0);
	vr_put32(udp + 8, label << 12 | 1 << 8 | VR_LABEL_TTL);
}

/* In place: one off the time to live of the IPv4 header at ip. */
VR_INLINE void vr_build_hop(uint8_t *ip)
{
	uint16_t from = vr_raw16(ip + 8);
	uint16_t to = (uint16_t)(from - 1); /* the lower byte in memory is the time to live */

	vr_put_raw16(ip + 8, to);
	vr_put_raw16(ip + 10, vr_csum_replace(vr_raw16(ip + 10), from, to));
}

/* In place: the traffic class of the IPv4 header at ip. */
VR_INLINE void vr_build_tos(uint8_t *ip, uint8_t tos)
{
	uint16_t from = vr_raw16(ip);
	uint16_t to = (uint16_t)((from & 0xff) | (uint16_t)tos << 8);

	if (from == to)
		return;
	vr_put_raw16(ip, to);
	vr_put_raw16(ip + 10, vr_csum_replace(vr_raw16(ip + 10), from, to));
}

/* In place, 42 bytes: the ARP request in the frame becomes the answer "it is at mac". */
VR_INLINE void vr_build_arp_reply(uint8_t *frame, uint64_t mac)
{
	uint8_t *arp = frame + VR_ETH_LEN;
	uint16_t target[2] = {vr_raw16(arp + 24), vr_raw16(arp + 26)};
	uint64_t asker = vr_get_mac(arp + 8);

	vr_put_mac(frame, asker);
	vr_put_mac(frame + 6, mac);
	vr_put16(arp + 6, VR_ARP_REPLY);
	vr_put_raw16(arp + 24, vr_raw16(arp + 14));
	vr_put_raw16(arp + 26, vr_raw16(arp + 16));
	vr_put_raw16(arp + 14, target[0]);
	vr_put_raw16(arp + 16, target[1]);
	vr_put_mac(arp + 8, mac);
	vr_put_mac(arp + 18, asker);
}

/* In place, 42 bytes: the echo request in the frame becomes its reply (RFC 792). Swapping the
 * addresses leaves the IPv4 checksum as it was; the type's change is added to the ICMP one. */
VR_INLINE void vr_build_echo_reply(uint8_t *frame)
{
	uint8_t *ip = frame + VR_ETH_LEN, *icmp = ip + VR_IP4_LEN;
	uint64_t dmac = vr_get_mac(frame), smac = vr_get_mac(frame + 6);
	uint32_t saddr = vr_raw32(ip + 12);

	vr_put_mac(frame, smac);
	vr_put_mac(frame + 6, dmac);
	vr_put_raw32(ip + 12, vr_raw32(ip + 16));
	vr_put_raw32(ip + 16, saddr);
	vr_put_raw16(icmp + 2, vr_csum_replace(vr_raw16(icmp + 2), 8, 0));
	vr_put_raw16(icmp, 0);
}

/* How much of the packet that was too big is quoted: its header, and the 20 bytes behind, which
 * hold a whole TCP header (RFC 792 asks for 8). */
#define VR_QUOTE_LEN 40
#define VR_TOO_BIG_LEN (VR_ETH_LEN + VR_IP4_LEN + VR_ICMP_LEN + VR_QUOTE_LEN)

/* 42 bytes in front of the quote, which lies in place already: Ethernet, IPv4 and ICMP
 * "fragmentation needed" with the MTU of the next hop (RFC 1191, section 4). */
VR_INLINE void vr_build_too_big(uint8_t *out, uint64_t dmac, uint64_t smac, uint32_t saddr,
				uint32_t daddr, uint32_t mtu)
{
	uint8_t *ip = out + VR_ETH_LEN, *icmp = ip + VR_IP4_LEN;
	uint64_t sum = 0;

	vr_build_eth(out, dmac, smac);
	vr_put32(ip, 0x45000000 | (VR_TOO_BIG_LEN - VR_ETH_LEN));
	vr_put32(ip + 4, VR_IP4_DF);
	vr_put32(ip + 8, VR_OUTER_TTL << 24 | VR_PROTO_ICMP << 16);
	vr_put32(ip + 12, saddr);
	vr_put32(ip + 16, daddr);
	for (int i = 0; i < VR_IP4_LEN; i += 4)
		sum += vr_raw32(ip + i);
	vr_put_raw16(ip + 10, (uint16_t)~vr_csum_fold(sum));
	vr_put32(icmp, 0x03040000);
	vr_put32(icmp + 4, mtu & 0xffff);
	sum = 0;
	for (int i = 0; i < VR_ICMP_LEN + VR_QUOTE_LEN; i += 4)
		sum += vr_raw32(icmp + i);
	vr_put_raw16(icmp + 2, (uint16_t)~vr_csum_fold(sum));
}

#endif
