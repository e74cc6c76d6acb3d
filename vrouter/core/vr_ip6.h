/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* IPv6: RFC 8200. */
#ifndef VR_IP6_H
#define VR_IP6_H

#include "vr_verdict.h"

/* Next header values: RFC 8200, section 4, and RFC 4302. */
#define VR_IP6_HOP_BY_HOP 0
#define VR_IP6_ROUTING 43
#define VR_IP6_FRAGMENT 44
#define VR_IP6_AUTHENTICATION 51
#define VR_IP6_DESTINATION 60

/* How far extension headers are followed. Few senders have more than two; behind more there would
 * be ports that nobody has checked, so the packet is lost. */
#define VR_IP6_EXTENSIONS 3
#define VR_IP6_EXTENSION_BYTES 128

/* How far behind an IP header's begin an ICMP error can quote a packet, and how far all reaches
 * that tells the flow of one: its own headers, and those of the packet that it quotes. */
#define VR_QUOTE_MAX (VR_IP6_LEN + VR_IP6_EXTENSION_BYTES + VR_ICMP_LEN)
#define VR_QUOTE4_REACH (2 * (VR_IP4_LEN + VR_IP4_OPTIONS + VR_ICMP_LEN))
#define VR_QUOTE6_REACH (2 * VR_QUOTE_MAX)

VR_INLINE int vr_ip6_extends(uint8_t next)
{
	return next == VR_IP6_HOP_BY_HOP || next == VR_IP6_ROUTING || next == VR_IP6_FRAGMENT ||
	       next == VR_IP6_AUTHENTICATION || next == VR_IP6_DESTINATION;
}

/* Bytes of the extension header at a place: RFC 8200, section 4, and RFC 4302, section 2.2. */
VR_INLINE uint32_t vr_ip6_extension(uint8_t next, const uint8_t *at)
{
	if (next == VR_IP6_FRAGMENT)
		return 8;
	if (next == VR_IP6_AUTHENTICATION)
		return ((uint32_t)at[1] + 2) * 4;
	return ((uint32_t)at[1] + 1) * 8;
}

/* Finds what the extension headers lead to, in a packet of so many bytes. Behind the header of a
 * fragment that is not the first comes the middle of something. */
VR_INLINE enum vr_drop vr_parse_extensions(const uint8_t *ip, const uint8_t *end, uint32_t bytes,
					   struct vr_ip *h)
{
	uint32_t at = VR_IP6_LEN;
	uint8_t next = ip[6];

	for (int i = 0; i < VR_IP6_EXTENSIONS && vr_ip6_extends(next) && !h->later; i++) {
		const uint8_t *extension = ip + at;

		VR_OPAQUE(extension);
		if (at + 8 > bytes || extension + 8 > end)
			return VR_DROP_truncated;
		at += vr_ip6_extension(next, extension);
		if (at > VR_IP6_LEN + VR_IP6_EXTENSION_BYTES)
			return VR_DROP_extensions;
		if (next == VR_IP6_FRAGMENT) {
			h->fragment = 1;
			h->later = vr_get16(extension + 2) >> 3 != 0;
			h->more = extension[3] & 1;
			h->id = vr_get32(extension + 4);
		}
		next = extension[0];
	}
	if (vr_ip6_extends(next) && !h->later)
		return VR_DROP_extensions;
	h->header = (uint8_t)at;
	h->proto = next;
	return VR_DROP_NONE;
}

/* As vr_read_ip4. */
VR_INLINE void vr_read_ip6(const uint8_t *ip, struct vr_ip *h)
{
	h->version = 6;
	h->tos = (uint8_t)(vr_get16(ip) >> 4);
	h->total = vr_get16(ip + 4) + VR_IP6_LEN;
	h->df = 1; /* routers do not fragment: RFC 8200, section 5 */
	h->ttl = ip[7];
	h->saddr = vr_get_addr(ip + 8);
	h->daddr = vr_get_addr(ip + 24);
}

/* As vr_parse_ip4. */
VR_INLINE enum vr_drop vr_parse_ip6(const uint8_t *ip, const uint8_t *end, uint32_t room,
				    uint32_t gso_size, struct vr_ip *h)
{
	enum vr_drop bad;

	if (ip + VR_IP6_LEN > end)
		return VR_DROP_truncated;
	vr_read_ip6(ip, h);
	h->fragment = 0;
	h->later = 0;
	if (ip[0] >> 4 != 6 || h->total > room)
		return VR_DROP_bad_header;
	bad = vr_parse_extensions(ip, end, vr_ip_bytes(h, room), h);
	if (bad)
		return bad;
	bad = vr_odd_length(h, room, gso_size);
	if (bad)
		return bad;
	return vr_parse_l4(ip + h->header, end, vr_ip_bytes(h, room) - h->header, h);
}

/* Either family, as the version in the header says. */
VR_INLINE enum vr_drop vr_parse_ip(const uint8_t *ip, const uint8_t *end, uint32_t room,
				   uint32_t gso_size, struct vr_ip *h)
{
	if (ip + 1 > end)
		return VR_DROP_truncated;
	if (ip[0] >> 4 == 6)
		return vr_parse_ip6(ip, end, room, gso_size, h);
	return vr_parse_ip4(ip, end, room, gso_size, h);
}

/* Reads the IP header at an offset of a frame, and of the next one what is needed: vr_parse_ip. A
 * mover may call it in its own way, as it does with the look-up of routes. */
VR_INLINE enum vr_drop vr_parse_at(const struct vr_frame *f, uint32_t offset, struct vr_ip *h);
#ifndef VR_PARSE_OWN
VR_INLINE enum vr_drop vr_parse_at(const struct vr_frame *f, uint32_t offset, struct vr_ip *h)
{
	return vr_parse_ip(f->data + offset, f->end, f->length - offset, f->gso_size, h);
}
#endif

/* fe80::/10: RFC 4291, section 2.5.6. */
VR_INLINE int vr_is_link_local(struct vr_addr a)
{
	return a.hi >> 54 == 0xfe80 >> 6;
}

VR_INLINE int vr_is_multicast(const struct vr_ip *h)
{
	return h->version == 6 ? h->daddr.hi >> 56 == 0xff : h->daddr.hi >> 60 >= 0xe;
}

#endif
