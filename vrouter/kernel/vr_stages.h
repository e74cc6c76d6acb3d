/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stages of a decision that are functions of their own. The verifier looks at a global function
 * once, for all arguments, and not once for every way through the program that leads to it: in
 * line, each would multiply what has to be looked at. Such a function takes and gives plain
 * numbers, or the program's context; this comes before vr_decide.h, which calls them.
 */
#ifndef VR_STAGES_H
#define VR_STAGES_H

#include "vr_maps.h"
#include "../core/vr_lookup.h"

#define VR_PARSE_OWN
#include "../core/vr_nd.h"
#include "../core/vr_quote.h"

__attribute__((noinline)) uint64_t vr_route_entry(uint32_t root, uint64_t hi, uint64_t lo)
{
	return vr_route_find(0, root, hi, lo);
}

VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, uint32_t root, struct vr_addr a)
{
	(void)t;
	return vr_route_entry(root, a.hi, a.lo);
}

/* The ways of a packet whose nexthop leads on, and the look for an address's port. */
__attribute__((noinline)) uint64_t vr_follow_entry(uint64_t route, uint64_t hi, uint64_t lo,
						   uint32_t hash, uint32_t how)
{
	struct vr_addr a = {hi, lo};

	return vr_follow_find(0, route, a, hash, how);
}

VR_INLINE uint64_t vr_follow(const struct vr_tables *t, uint64_t route, struct vr_addr a,
			     uint32_t hash, uint32_t how)
{
	(void)t;
	return vr_follow_entry(route, a.hi, a.lo, hash, how);
}

__attribute__((noinline)) int vr_leads_entry(uint32_t root, uint64_t hi, uint64_t lo,
					     uint32_t ifindex)
{
	struct vr_addr a = {hi, lo};

	return vr_leads_find(0, root, a, ifindex);
}

VR_INLINE int vr_leads(const struct vr_tables *t, uint32_t root, struct vr_addr a, uint32_t ifindex)
{
	(void)t;
	return vr_leads_entry(root, a.hi, a.lo, ifindex);
}

__attribute__((noinline)) uint64_t vr_mac_entry(uint64_t key)
{
	return vr_mac_find(0, key);
}

VR_INLINE uint64_t vr_mac_lookup(const struct vr_tables *t, uint64_t key)
{
	(void)t;
	return vr_mac_entry(key);
}

/* Where a frame comes from, and so what its packet is to the verifier. */
enum vr_hook { VR_HOOK_TC, VR_HOOK_XDP };

/* Loaded anew each time: what clang remembers of an earlier load it treats as the 32-bit number
 * that the context declares, and cuts the verifier's pointer down to it. */
#define VR_SKB_POINTER(skb, field) ((uint8_t *)(long)VR_READ_ONCE((skb)->field))

/* The furthest that an inner IP header begins. */
#define VR_PARSE_MAX (VR_ETH_LEN + VR_TEMPLATE_LEN)

/*
 * What these functions find fits into a number, with what stands in the header for all to see left
 * out, and so needs no room on the stack, of which there are 512 bytes for a program and all that
 * it calls: bits 0-7 the drop reason, 8-15 and 16-23 the lengths of the IP header and of the next,
 * 24-31 the protocol, 32-63 the ports, or the ICMP type.
 */
#define VR_PACK_FRAGMENT (1ULL << 16)
#define VR_PACK_LATER (1ULL << 17)
#define VR_PACK_TUNNEL (1ULL << 22)
#define VR_PACK_SYN (1ULL << 23)

VR_INLINE uint64_t vr_parse_packed(const uint8_t *ip, const uint8_t *end, uint32_t room,
				   uint32_t gso_size)
{
	struct vr_ip h = {};
	enum vr_drop bad = vr_parse_ip(ip, end, room, gso_size, &h);
	uint32_t ports;

	if (bad)
		return (uint64_t)bad;
	ports = h.proto == VR_PROTO_ICMP6 ? h.icmp : (uint32_t)h.sport << 16 | h.dport;
	return (uint64_t)h.header << 8 | (uint64_t)h.l4 << 16 |
	       (h.fragment ? VR_PACK_FRAGMENT : 0) | (h.later ? VR_PACK_LATER : 0) |
	       (h.tunnel ? VR_PACK_TUNNEL : 0) | (h.syn ? VR_PACK_SYN : 0) |
	       (uint64_t)h.proto << 24 | (uint64_t)ports << 32;
}

VR_INLINE enum vr_drop vr_unpack(uint64_t word, const uint8_t *ip, const uint8_t *end,
				 struct vr_ip *h)
{
	if ((uint8_t)word)
		return (enum vr_drop)(uint8_t)word;
	h->header = (uint8_t)(word >> 8);
	h->l4 = (uint8_t)(word >> 16) & 0x3c; /* a multiple of 4, up to 60 */
	h->fragment = (word & VR_PACK_FRAGMENT) != 0;
	h->later = (word & VR_PACK_LATER) != 0;
	h->tunnel = (word & VR_PACK_TUNNEL) != 0;
	h->syn = (word & VR_PACK_SYN) != 0;
	h->proto = (uint8_t)(word >> 24);
	if (h->proto == VR_PROTO_ICMP6) {
		h->icmp = (uint8_t)(word >> 32);
	} else {
		h->sport = (uint16_t)(word >> 48);
		h->dport = (uint16_t)(word >> 32);
	}
	if (ip[0] >> 4 == 4)
		vr_read_ip4(ip, h);
	else if (ip + VR_IP6_LEN <= end)
		vr_read_ip6(ip, h);
	return VR_DROP_NONE;
}

__attribute__((noinline)) uint64_t vr_parse_skb(struct __sk_buff *skb, uint32_t offset)
{
	if (offset > VR_PARSE_MAX)
		return VR_DROP_truncated;
	return vr_parse_packed(VR_SKB_POINTER(skb, data) + offset, VR_SKB_POINTER(skb, data_end),
			       skb->len - offset, skb->gso_size);
}

__attribute__((noinline)) uint64_t vr_parse_xdp(struct xdp_md *xdp, uint32_t offset)
{
	const uint8_t *data = VR_SKB_POINTER(xdp, data), *end = VR_SKB_POINTER(xdp, data_end);
	uint64_t length = (uint64_t)(end - data);

	VR_OPAQUE(length); /* or clang subtracts from it in 32 bits, and from pointers */
	if (offset > VR_PARSE_MAX)
		return VR_DROP_truncated;
	return vr_parse_packed(data + offset, end, (uint32_t)length - offset, 0);
}

/* The flow that an ICMP message is about. One behind all that a parse goes past. */
#define VR_ICMP_MAX (VR_PARSE_MAX + VR_QUOTE_MAX - VR_ICMP_LEN)

__attribute__((noinline)) uint64_t vr_quote_skb(struct __sk_buff *skb, uint32_t at, uint32_t bytes,
						uint32_t protocol, uint32_t seed)
{
	if (at > VR_ICMP_MAX)
		return 0;
	return vr_quote_hash_of(VR_SKB_POINTER(skb, data) + at, VR_SKB_POINTER(skb, data_end),
				bytes, (uint8_t)protocol, seed);
}

__attribute__((noinline)) uint64_t vr_quote_xdp(struct xdp_md *xdp, uint32_t at, uint32_t bytes,
						uint32_t protocol, uint32_t seed)
{
	if (at > VR_ICMP_MAX)
		return 0;
	return vr_quote_hash_of(VR_SKB_POINTER(xdp, data) + at, VR_SKB_POINTER(xdp, data_end),
				bytes, (uint8_t)protocol, seed);
}

VR_INLINE uint64_t vr_quote_hash(const struct vr_frame *f, uint32_t at, uint32_t bytes,
				 uint8_t protocol, uint32_t seed)
{
	if (f->hook == VR_HOOK_XDP)
		return vr_quote_xdp(f->packet, at, bytes, protocol, seed);
	return vr_quote_skb(f->packet, at, bytes, protocol, seed);
}

/* IPv4 without options, and nothing behind it, which nearly all packets are, is read in line: it
 * has few ways. */
VR_INLINE enum vr_drop vr_parse_at(const struct vr_frame *f, uint32_t offset, struct vr_ip *h)
{
	const uint8_t *ip = f->data + offset;
	uint64_t word;

	if (ip + VR_IP4_LEN > f->end)
		return VR_DROP_truncated;
	if (__builtin_expect(ip[0] == 0x45 && vr_get16(ip + 2) == f->length - offset, 1))
		return vr_parse_ip4(ip, f->end, vr_get16(ip + 2), 0, h);
	if (f->hook == VR_HOOK_XDP)
		word = vr_parse_xdp(f->packet, offset);
	else
		word = vr_parse_skb(f->packet, offset);
	return vr_unpack(word, ip, f->end, h);
}

#endif
