/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From bytes to header fields. Nothing here knows a table. */
#ifndef VR_PARSE_H
#define VR_PARSE_H

#include "vr_bytes.h"

#define VR_ETH_LEN 14
#define VR_IP4_LEN 20
#define VR_IP4_OPTIONS 40 /* at most */
#define VR_IP6_LEN 40
#define VR_UDP_LEN 8
#define VR_TCP_LEN 20 /* without options */
#define VR_LABEL_LEN 4
#define VR_ARP_LEN 28
#define VR_ICMP_LEN 8
#define VR_GRE_LEN 4 /* without checksum, key and sequence number */
#define VR_VXLAN_LEN 8
#define VR_WORD_LEN 4 /* a control word: RFC 4385, section 3 */

/* What each encapsulation adds to an inner packet, behind the outer Ethernet and IP headers. */
#define VR_MPLSOUDP_LEN (VR_UDP_LEN + VR_LABEL_LEN)
#define VR_MPLSOGRE_LEN (VR_GRE_LEN + VR_LABEL_LEN)
#define VR_VXLAN_ALL_LEN (VR_UDP_LEN + VR_VXLAN_LEN + VR_ETH_LEN)
#define VR_FRAME_MPLSOUDP_LEN (VR_MPLSOUDP_LEN + VR_ETH_LEN)
#define VR_FRAME_MPLSOGRE_LEN (VR_MPLSOGRE_LEN + VR_ETH_LEN)
#define VR_WORD_MPLSOUDP_LEN (VR_FRAME_MPLSOUDP_LEN + VR_WORD_LEN)
#define VR_WORD_MPLSOGRE_LEN (VR_FRAME_MPLSOGRE_LEN + VR_WORD_LEN)

#define VR_ETHERTYPE_IP4 0x0800
#define VR_ETHERTYPE_ARP 0x0806
#define VR_ETHERTYPE_IP6 0x86dd
#define VR_ETHERTYPE_MPLS 0x8847 /* RFC 3032, section 5 */
#define VR_PROTO_ICMP 1
#define VR_PROTO_TCP 6
#define VR_PROTO_UDP 17
#define VR_PROTO_GRE 47
#define VR_PROTO_ICMP6 58
#define VR_PORT_MPLSOUDP 6635 /* RFC 7510, section 5 */
#define VR_PORT_VXLAN 4789    /* RFC 7348, section 8 */

#define VR_IP4_DF 0x4000
#define VR_IP4_FRAGMENT 0x3fff /* more fragments, or an offset */
#define VR_IP4_OFFSET 0x1fff   /* in units of 8 bytes */

/* An IP header and what of the next one is needed. */
struct vr_ip {
	struct vr_addr saddr;
	struct vr_addr daddr;
	uint32_t total; /* its length, as the header says it: vr_ip_bytes */
	uint16_t sport;
	uint16_t dport;
	uint8_t version;
	uint8_t header; /* bytes before the next protocol's */
	uint8_t l4;	/* bytes of the TCP or UDP header */
	uint8_t tos;
	uint8_t ttl;
	uint8_t proto;
	uint8_t df;	  /* it may not be fragmented */
	uint8_t fragment; /* it is one */
	uint8_t later;	  /* and not the first: no header follows */
	uint8_t tunnel;	  /* it is what vRouters send each other */
	uint8_t syn;	  /* the TCP flag */
	uint8_t icmp;	  /* the ICMPv6 type */
	uint8_t more;	  /* an IPv6 fragment that others follow, */
	uint32_t id;	  /* and what they have in common */
};

VR_INLINE struct vr_addr vr_addr_of(uint32_t ip4)
{
	struct vr_addr a = {(uint64_t)ip4 << 32, 0};

	return a;
}

/* 16 bytes. */
VR_INLINE struct vr_addr vr_get_addr(const uint8_t *p)
{
	struct vr_addr a = {(uint64_t)vr_get32(p) << 32 | vr_get32(p + 4),
			    (uint64_t)vr_get32(p + 8) << 32 | vr_get32(p + 12)};

	return a;
}

VR_INLINE int vr_is_zero(struct vr_addr a)
{
	return !(a.hi | a.lo);
}

VR_INLINE int vr_same_addr(struct vr_addr a, struct vr_addr b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/* The sum over the header's words; 0xffff when the checksum in it is right: RFC 1071. */
VR_INLINE uint16_t vr_ip4_sum(const uint8_t *ip, const uint8_t *end, uint32_t header)
{
	uint64_t sum = (uint64_t)vr_raw32(ip) + vr_raw32(ip + 4) + vr_raw32(ip + 8) +
		       vr_raw32(ip + 12) + vr_raw32(ip + 16);

	for (uint32_t at = VR_IP4_LEN; at < 60 && at < header; at += 4) {
		const uint8_t *word = ip + at;

		VR_OPAQUE(word);
		if (word + 4 > end)
			return 0;
		sum += vr_raw32(word);
	}
	return vr_csum_fold(sum);
}

/* Whether the header behind IP is one that a tunnel's packets have. */
VR_INLINE int vr_is_tunnel(uint8_t proto, const uint8_t *l4)
{
	uint16_t word = vr_get16(l4 + 2); /* a destination port, or GRE's protocol type */

	if (proto == VR_PROTO_UDP)
		return word == VR_PORT_MPLSOUDP || word == VR_PORT_VXLAN;
	return proto == VR_PROTO_GRE && word == VR_ETHERTYPE_MPLS;
}

/* Whether an ICMP message is about another packet: RFC 792, and RFC 4443, section 2.1. */
VR_INLINE int vr_icmp_quotes(uint8_t protocol, uint8_t type)
{
	if (protocol == VR_PROTO_ICMP6)
		return type < 128;
	return type == 3 || type == 11 || type == 12;
}

/* How many bytes of the next protocol's header must be there. */
VR_INLINE uint32_t vr_l4_wanted(uint8_t proto)
{
	if (proto == VR_PROTO_TCP || proto == VR_PROTO_UDP || proto == VR_PROTO_ICMP ||
	    proto == VR_PROTO_ICMP6)
		return VR_UDP_LEN;
	return proto == VR_PROTO_GRE ? VR_GRE_LEN : 0;
}

/*
 * The bytes of the IP packet whose header is read, in a frame with room for so many. What is behind
 * them, padding (RFC 894) or anything else, is none of the packet: its receiver cuts it off, so no
 * header may be looked for there. A length of 0, or of an IPv6 header and nothing behind it, is
 * what Linux writes into aggregates above 64 KiB ("BIG TCP", kernel commits b1a78b9b9886 and
 * 81be03e026dc), which are all of their frame.
 */
VR_INLINE uint32_t vr_ip_bytes(const struct vr_ip *h, uint32_t room)
{
	uint32_t none = h->version == 6 ? VR_IP6_LEN : 0;

	return room > 0xffff && h->total == none ? room : h->total;
}

/* The lengths that stand in a whole packet's TCP or UDP header, of which so many bytes are the
 * packet's. UDP may end before its packet does (RFC 9868), not behind it; a tunnel's is looked at
 * where the tunnel is. */
VR_INLINE enum vr_drop vr_parse_length(const uint8_t *l4, const uint8_t *end, uint32_t bytes,
				       struct vr_ip *h)
{
	uint32_t stated;

	if (h->proto == VR_PROTO_UDP) {
		/* Known already, but Linux 6.1's verifier, when it reads the protocol again from
		 * the stack, no longer knows that it is the one whose header was asked for. */
		VR_OPAQUE(l4);
		if (l4 + VR_UDP_LEN > end)
			return VR_DROP_truncated;
		stated = h->tunnel ? VR_UDP_LEN : vr_get16(l4 + 4);
		return stated - VR_UDP_LEN > bytes - VR_UDP_LEN ? VR_DROP_bad_transport
								: VR_DROP_NONE;
	}
	if (bytes < VR_TCP_LEN || l4 + VR_TCP_LEN > end)
		return VR_DROP_truncated;
	stated = (uint32_t)(l4[12] >> 4) * 4;
	h->l4 = (uint8_t)stated;
	h->syn = l4[13] & 2;
	return stated - VR_TCP_LEN > bytes - VR_TCP_LEN ? VR_DROP_bad_transport : VR_DROP_NONE;
}

/* The ports, and the length of the TCP or UDP header, of which so many bytes are the packet's. Any
 * fragment has none: its siblings have no ports to be told by, and all of them must take the same
 * way. A first fragment shows whether it begins a tunnel's packet all the same; it has to hold all
 * the headers (RFC 7112). */
VR_INLINE enum vr_drop vr_parse_l4(const uint8_t *l4, const uint8_t *end, uint32_t bytes,
				   struct vr_ip *h)
{
	uint32_t want = vr_l4_wanted(h->proto);

	VR_OPAQUE(l4);
	h->sport = 0;
	h->dport = 0;
	h->tunnel = 0;
	h->syn = 0;
	h->icmp = 0;
	h->l4 = h->proto == VR_PROTO_TCP ? VR_TCP_LEN : VR_UDP_LEN;
	if (want == 0 || h->later)
		return VR_DROP_NONE;
	if (want > bytes || l4 + want > end)
		return VR_DROP_truncated;
	h->tunnel = (uint8_t)vr_is_tunnel(h->proto, l4);
	if (h->proto == VR_PROTO_ICMP6)
		h->icmp = l4[0];
	if (h->fragment || (h->proto != VR_PROTO_TCP && h->proto != VR_PROTO_UDP))
		return VR_DROP_NONE;
	h->sport = vr_get16(l4);
	h->dport = vr_get16(l4 + 2);
	return vr_parse_length(l4, end, bytes, h);
}

/* What stands in an IPv4 header for all to see. */
VR_INLINE void vr_read_ip4(const uint8_t *ip, struct vr_ip *h)
{
	h->version = 4;
	h->tos = ip[1];
	h->total = vr_get16(ip + 2);
	h->df = (vr_get16(ip + 6) & VR_IP4_DF) != 0;
	h->ttl = ip[8];
	h->saddr = vr_addr_of(vr_get32(ip + 12));
	h->daddr = vr_addr_of(vr_get32(ip + 16));
}

/*
 * Whether the length in an IP header cannot be, in a frame with room for so many bytes. An
 * aggregate is cut into packets by its frame's length, whatever stands in its header
 * (inet_gso_segment in net/ipv4/af_inet.c), so it must be all of the frame; and only an aggregate
 * may leave it out.
 */
VR_INLINE enum vr_drop vr_odd_length(const struct vr_ip *h, uint32_t room, uint32_t gso_size)
{
	uint32_t bytes = vr_ip_bytes(h, room);

	if (h->total > room || bytes < h->header)
		return VR_DROP_bad_header;
	if (gso_size)
		return bytes == room ? VR_DROP_NONE : VR_DROP_joined;
	return bytes == h->total ? VR_DROP_NONE : VR_DROP_bad_header;
}

/* Reads the IPv4 header at ip; room is the frame's length from there, which may be more than lies
 * before end, and gso_size the frame's. */
VR_INLINE enum vr_drop vr_parse_ip4(const uint8_t *ip, const uint8_t *end, uint32_t room,
				    uint32_t gso_size, struct vr_ip *h)
{
	enum vr_drop bad;
	uint16_t frag;

	if (ip + VR_IP4_LEN > end)
		return VR_DROP_truncated;
	vr_read_ip4(ip, h);
	h->header = (uint8_t)((ip[0] & 0xf) * 4);
	frag = vr_get16(ip + 6);
	h->fragment = (frag & VR_IP4_FRAGMENT) != 0;
	h->later = (frag & VR_IP4_OFFSET) != 0;
	h->proto = ip[9];
	if (ip[0] >> 4 != 4 || h->header < VR_IP4_LEN)
		return VR_DROP_bad_header;
	bad = vr_odd_length(h, room, gso_size);
	if (bad)
		return bad;
	if (vr_ip4_sum(ip, end, h->header) != 0xffff)
		return VR_DROP_bad_checksum;
	return vr_parse_l4(ip + h->header, end, vr_ip_bytes(h, room) - h->header, h);
}

/* The length of the largest packet that leaves once an aggregate is cut: its gso_size bytes of
 * payload and its headers. The aggregate's own length says nothing about the wire. */
VR_INLINE uint32_t vr_segment_length(const struct vr_ip *h, uint32_t gso_size)
{
	if (gso_size == 0)
		return h->total;
	return (uint32_t)h->header + h->l4 + gso_size;
}

struct vr_arp {
	uint64_t sender_mac;
	uint32_t sender;
	uint32_t target;
	uint16_t operation;
};

#define VR_ARP_REQUEST 1
#define VR_ARP_REPLY 2

/* RFC 826: Ethernet (1), IPv4, address lengths 6 and 4. */
VR_INLINE enum vr_drop vr_parse_arp(const uint8_t *arp, const uint8_t *end, struct vr_arp *a)
{
	if (arp + VR_ARP_LEN > end)
		return VR_DROP_truncated;
	if (vr_get32(arp) != 0x00010800 || vr_get16(arp + 4) != 0x0604)
		return VR_DROP_arp_malformed;
	a->operation = vr_get16(arp + 6);
	a->sender_mac = vr_get_mac(arp + 8);
	a->sender = (uint32_t)vr_get16(arp + 14) << 16 | vr_get16(arp + 16);
	a->target = (uint32_t)vr_get16(arp + 24) << 16 | vr_get16(arp + 26);
	return VR_DROP_NONE;
}

/* What differs between a tunnel's packets. */
struct vr_push {
	uint32_t label;	 /* MPLS */
	uint32_t length; /* of the inner packet */
	uint16_t sport;	 /* UDP's, and an outer IPv6 header's flow label */
	uint8_t tos;	 /* of the outer header */
	uint8_t version; /* of the inner packet */
};

/* A label stack entry: RFC 3032, section 2.1. */
struct vr_label_entry {
	uint32_t label;
	uint8_t bottom;
	uint8_t ttl;
};

VR_INLINE struct vr_label_entry vr_parse_label(const uint8_t *p)
{
	uint32_t word = vr_get32(p);
	struct vr_label_entry l = {
	    .label = word >> 12, .bottom = (word >> 8) & 1, .ttl = (uint8_t)word};

	return l;
}

/* The IP version that an EtherType announces; 0 for what is not IP. */
VR_INLINE uint8_t vr_version_of(uint16_t ethertype)
{
	if (ethertype == VR_ETHERTYPE_IP4)
		return 4;
	return ethertype == VR_ETHERTYPE_IP6 ? 6 : 0;
}

#endif
