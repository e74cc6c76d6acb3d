/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From a verdict to bytes. Pure: each function writes at out what its comment says. */
#ifndef VR_BUILD_H
#define VR_BUILD_H

#include "vr_mss.h"
#include "vr_parse.h"

#define VR_OUTER_TTL 64

/* 14 bytes, a frame's first: the Ethernet header of a nexthop. */
VR_INLINE void vr_build_eth(uint8_t *out, uint64_t dmac, uint64_t smac, uint8_t version)
{
	uint16_t type = version == 6 ? VR_ETHERTYPE_IP6 : VR_ETHERTYPE_IP4;

	vr_put_raw16(out, (uint16_t)dmac);
	vr_put_raw32(out + 2, (uint32_t)(dmac >> 16));
	vr_put_raw64(out + 6, vr_mac_bits(smac) | (uint64_t)__builtin_bswap16(type) << 48);
}

/* Copies an even number of bytes, known when this is compiled, of a nexthop's template. */
VR_INLINE void vr_build_template(uint8_t *out, const uint8_t *from, uint32_t bytes)
{
#pragma unroll
	for (uint32_t i = 0; i + 4 <= bytes; i += 4)
		vr_put_raw32(out + i, vr_raw32(from + i));
	if (bytes & 2)
		vr_put_raw16(out + bytes - 2, vr_raw16(from + bytes - 2));
}

/* In place: the maximum segment size at a place in the TCP header, and its checksum. */
VR_INLINE void vr_build_mss(uint8_t *tcp, uint32_t at, uint16_t mss)
{
	uint16_t from = vr_raw16(tcp + at), to = __builtin_bswap16(mss);

	vr_put_raw16(tcp + at, to);
	vr_put_raw16(tcp + VR_TCP_CSUM,
		     vr_csum_replace(vr_raw16(tcp + VR_TCP_CSUM), vr_mss_term(at, from),
				     vr_mss_term(at, to)));
}

/* In place: one off the time to live of the IP header at ip. */
VR_INLINE void vr_build_hop(uint8_t *ip, uint8_t version)
{
	uint16_t from = vr_raw16(ip + 8);
	uint16_t to = (uint16_t)(from - 1); /* the lower byte in memory is the time to live */

	if (version == 6) {
		ip[7]--;
		return;
	}
	vr_put_raw16(ip + 8, to);
	vr_put_raw16(ip + 10, vr_csum_replace(vr_raw16(ip + 10), from, to));
}

/* In place: the traffic class of the IP header at ip. */
VR_INLINE void vr_build_tos(uint8_t *ip, uint8_t tos, uint8_t version)
{
	uint16_t from = vr_raw16(ip);
	uint16_t to = (uint16_t)((from & 0xff) | (uint16_t)tos << 8);

	if (version == 6) {
		vr_put16(ip, (uint16_t)((vr_get16(ip) & 0xf00f) | (uint16_t)tos << 4));
		return;
	}
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
 * "fragmentation needed" with the MTU of the next hop (RFC 1191, section 4), to whom the quoted
 * packet is from (RFC 792). */
VR_INLINE void vr_build_too_big(uint8_t *out, uint64_t dmac, uint64_t smac, uint32_t saddr,
				uint32_t mtu)
{
	uint8_t *ip = out + VR_ETH_LEN, *icmp = ip + VR_IP4_LEN;
	uint64_t sum = 0;

	vr_build_eth(out, dmac, smac, 4);
	vr_put32(ip, 0x45000000 | (VR_TOO_BIG_LEN - VR_ETH_LEN));
	vr_put32(ip + 4, VR_IP4_DF);
	vr_put32(ip + 8, VR_OUTER_TTL << 24 | VR_PROTO_ICMP << 16);
	vr_put32(ip + 12, saddr);
	vr_put_raw32(ip + 16, vr_raw32(icmp + VR_ICMP_LEN + 12));
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
