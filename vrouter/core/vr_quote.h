/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where there are several ways, an ICMP error has that of the flow which it is about: no other
 * member can make use of it. One that went astray would leave path MTU discovery without an answer
 * where many servers have one address (RFC 7690, section 2). Linux's multipath routes choose so too
 * (kernel commit 79a131592dbb).
 */
#ifndef VR_QUOTE_H
#define VR_QUOTE_H

#include "vr_nexthop.h"

/* What of a quoted packet, of which so many bytes are there, tells its flow. Its checksum is not
 * looked at: routers have counted down its time to live, and not all quote what they received. */
VR_INLINE enum vr_drop vr_quote_read(const uint8_t *ip, const uint8_t *end, uint32_t bytes,
				     struct vr_ip *h)
{
	uint16_t frag;

	if (bytes < VR_IP4_LEN || ip + VR_IP4_LEN > end)
		return VR_DROP_truncated;
	if (ip[0] >> 4 == 6) {
		if (bytes < VR_IP6_LEN || ip + VR_IP6_LEN > end)
			return VR_DROP_truncated;
		vr_read_ip6(ip, h);
		return vr_parse_extensions(ip, end, bytes, h);
	}
	h->header = (uint8_t)((ip[0] & 0xf) * 4);
	if (ip[0] >> 4 != 4 || h->header < VR_IP4_LEN)
		return VR_DROP_bad_header;
	vr_read_ip4(ip, h);
	frag = vr_get16(ip + 6);
	h->later = (frag & VR_IP4_OFFSET) != 0;
	h->fragment = (frag & VR_IP4_FRAGMENT) != 0;
	h->proto = ip[9];
	return VR_DROP_NONE;
}

#define VR_QUOTE_FOUND (1ULL << 32)

/*
 * The hash of the flow that the ICMP message at icmp is about, of so many bytes, with
 * VR_QUOTE_FOUND; 0 if it is about none. The quoted packet went the other way, so its ends are
 * exchanged. A fragment without ports tells its flow by the addresses alone, as all do; the first
 * one shows the ports, and counts as a whole packet: requests that fit are not fragmented because
 * their answers are.
 */
VR_INLINE uint64_t vr_quote_hash_of(const uint8_t *icmp, const uint8_t *end, uint32_t bytes,
				    uint8_t protocol, uint32_t seed)
{
	struct vr_ip h = {};
	const uint8_t *quoted, *l4;
	struct vr_addr from;

	if (bytes < VR_ICMP_LEN || icmp + VR_ICMP_LEN > end || !vr_icmp_quotes(protocol, icmp[0]))
		return 0;
	quoted = icmp + VR_ICMP_LEN;
	bytes -= VR_ICMP_LEN;
	if (vr_quote_read(quoted, end, bytes, &h))
		return 0;
	l4 = quoted + h.header;
	VR_OPAQUE(l4);
	if ((h.proto == VR_PROTO_TCP || h.proto == VR_PROTO_UDP) && !h.later) {
		if ((uint32_t)h.header + 4 > bytes || l4 + 4 > end)
			return 0;
		h.dport = vr_get16(l4);
		h.sport = vr_get16(l4 + 2);
	}
	from = h.saddr;
	h.saddr = h.daddr;
	h.daddr = from;
	h.fragment = h.later;
	return VR_QUOTE_FOUND | vr_flow_hash(&h, seed);
}

/* The same of the ICMP message so far into a frame. A mover may call it in its own way. */
VR_INLINE uint64_t vr_quote_hash(const struct vr_frame *f, uint32_t at, uint32_t bytes,
				 uint8_t protocol, uint32_t seed);
#ifndef VR_PARSE_OWN
VR_INLINE uint64_t vr_quote_hash(const struct vr_frame *f, uint32_t at, uint32_t bytes,
				 uint8_t protocol, uint32_t seed)
{
	return vr_quote_hash_of(f->data + at, f->end, bytes, protocol, seed);
}
#endif

/* What chooses among several ways for the IP packet at an offset. The fragments of an error go
 * together, as all do. */
VR_INLINE uint32_t vr_way_hash(const struct vr_frame *f, uint32_t offset, const struct vr_ip *h,
			       uint32_t seed)
{
	uint64_t quoted = 0;

	if (h->proto == (h->version == 6 ? VR_PROTO_ICMP6 : VR_PROTO_ICMP) && !h->fragment)
		quoted = vr_quote_hash(f, offset + h->header, h->total - h->header, h->proto, seed);
	if (!(quoted & VR_QUOTE_FOUND))
		return vr_flow_hash(h, seed);
	VR_STEP(quoted, 0, 0);
	return (uint32_t)quoted;
}

#endif
