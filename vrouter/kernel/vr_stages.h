/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stages of a decision that are functions of their own. The verifier looks at a global function
 * once, for all arguments, and not once for every way through the program that leads to it: in
 * line, each would multiply what has to be looked at. Such a function takes plain numbers, the
 * program's context, and memory of a fixed size; this comes before vr_decide.h, which calls them.
 */
#ifndef VR_STAGES_H
#define VR_STAGES_H

#include "vr_maps.h"
#include "../core/vr_lookup.h"

#define VR_PARSE_OWN
#include "../core/vr_nd.h"

__attribute__((noinline)) uint64_t vr_route_entry(uint32_t root, uint64_t hi, uint64_t lo)
{
	return vr_route_find(0, root, hi, lo);
}

VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, uint32_t root, struct vr_addr a)
{
	(void)t;
	return vr_route_entry(root, a.hi, a.lo);
}

/* Where a frame comes from, and so what its packet is to the verifier. */
enum vr_hook { VR_HOOK_TC, VR_HOOK_XDP };

/* Loaded anew each time: what clang remembers of an earlier load it treats as the 32-bit number
 * that the context declares, and cuts the verifier's pointer down to it. */
#define VR_SKB_POINTER(skb, field) ((uint8_t *)(long)VR_READ_ONCE((skb)->field))

/* The furthest that an inner IP header begins. */
#define VR_PARSE_MAX (VR_ETH_LEN + VR_TEMPLATE_LEN)

__attribute__((noinline)) int vr_parse_skb(struct __sk_buff *skb, uint32_t offset, struct vr_ip *h)
{
	if (!h || offset > VR_PARSE_MAX)
		return VR_DROP_truncated;
	return vr_parse_ip(VR_SKB_POINTER(skb, data) + offset, VR_SKB_POINTER(skb, data_end),
			   skb->len - offset, h);
}

__attribute__((noinline)) int vr_parse_xdp(struct xdp_md *xdp, uint32_t offset, struct vr_ip *h)
{
	const uint8_t *data = VR_SKB_POINTER(xdp, data), *end = VR_SKB_POINTER(xdp, data_end);
	uint64_t length = (uint64_t)(end - data);

	VR_OPAQUE(length); /* or clang subtracts from it in 32 bits, and from pointers */
	if (!h || offset > VR_PARSE_MAX)
		return VR_DROP_truncated;
	return vr_parse_ip(data + offset, end, (uint32_t)length - offset, h);
}

/* IPv4 without options, which nearly all packets are, is read in line: it has few ways, and a
 * header whose address no function gets stays in registers. So the functions fill one of their own.
 */
VR_INLINE enum vr_drop vr_parse_at(const struct vr_frame *f, uint32_t offset, struct vr_ip *h)
{
	const uint8_t *ip = f->data + offset;
	struct vr_ip there = {};
	int bad;

	if (ip + VR_IP4_LEN <= f->end && ip[0] == 0x45)
		return vr_parse_ip4(ip, f->end, f->length - offset, h);
	if (f->hook == VR_HOOK_XDP)
		bad = vr_parse_xdp(f->packet, offset, &there);
	else
		bad = vr_parse_skb(f->packet, offset, &there);
	*h = there;
	return (enum vr_drop)bad;
}

#endif
