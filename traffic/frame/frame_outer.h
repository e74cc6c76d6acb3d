/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What frames wear at the far end of a data plane's fabric: the outer header of a tunnel, which
 * ends where the inner IP header begins. outer.go makes it and says what it is.
 */
#ifndef FRAME_OUTER_H
#define FRAME_OUTER_H

#include "frame_wire.h"

/* The longest, in whole words of 8 bytes: Ethernet, IPv6, UDP, VXLAN, Ethernet are 84. A frame that
 * wears the shortest is as long: MPLS in GRE over IPv4, and the smallest inner packet. */
#define FRAME_OUTER_MOST 88
#define FRAME_OUTER_LEAST 42
#define FRAME_ENTROPY_PORT 0xc000
#define FRAME_ENTROPY_BITS 14

#ifdef __bpf__
typedef __u64 __attribute__((may_alias)) frame_word; /* the verifier lets them lie anywhere */
#else
typedef __u64 __attribute__((may_alias, aligned(1))) frame_word;
#endif

struct frame_outer {
	__u8 bytes[FRAME_OUTER_MOST]; /* what differs from frame to frame is zero */
	__u8 mask[FRAME_OUTER_MOST];  /* of a sink: the bits that do not differ */
	__u32 length;		      /* 0: frames wear nothing */
	__u32 ipv6;		      /* the outer header is */
	__u32 udp;		      /* it has UDP behind it */
	__u32 ip_sum;		      /* of an IPv4 header's words but length and checksum */
};

/* How much further back the inner packet is than in a frame that wears nothing. */
static __always_inline __u32 frame_outer_shift(__u32 length)
{
	return length ? length - FRAME_ETHERNET : 0;
}

static __always_inline void frame_outer_put16(__u8 *at, __u32 value)
{
	at[0] = (__u8)(value >> 8);
	at[1] = (__u8)value;
}

static __always_inline __u32 frame_outer_get16(const __u8 *at)
{
	return (__u32)at[0] << 8 | at[1];
}

/* Completes the outer header of a flow before an inner packet of so many bytes; the rest of it is
 * there already. */
static __always_inline void frame_outer_put(const struct frame_outer *o, __u8 *frame, __u32 packet,
					    __u32 flow)
{
	__u32 behind = packet + o->length - FRAME_ETHERNET, ip = o->ipv6 ? FRAME_IPV6 : FRAME_IPV4;
	__u32 port = FRAME_ENTROPY_PORT |
		     ((flow ^ flow >> FRAME_ENTROPY_BITS) & ((1 << FRAME_ENTROPY_BITS) - 1));
	__u8 *udp = frame + (o->ipv6 ? FRAME_IPV6_UDP : FRAME_IPV4_UDP);

	if (o->ipv6) {
		frame_outer_put16(frame + 16, port); /* of the flow label: RFC 6438, section 3 */
		frame_outer_put16(frame + 18, behind - FRAME_IPV6);
	} else {
		frame_outer_put16(frame + 16, behind);
		frame_outer_put16(frame + 24, (__u16)~frame_fold32(o->ip_sum + behind));
	}
	if (o->udp) {
		frame_outer_put16(udp, port);
		frame_outer_put16(udp + 4, behind - ip);
	}
}

/* Whether a frame wears what it should before an inner packet of so many bytes. FRAME_OUTER_MOST of
 * its bytes can be read. */
static __always_inline int frame_outer_right(const struct frame_outer *o, const __u8 *frame,
					     __u32 packet)
{
	__u32 behind = packet + o->length - FRAME_ETHERNET, ip = o->ipv6 ? FRAME_IPV6 : FRAME_IPV4;
	__u64 wrong = 0;

	for (int i = 0; i < FRAME_OUTER_MOST; i += 8)
		wrong |= (*(const frame_word *)(frame + i) ^ *(const frame_word *)(o->bytes + i)) &
			 *(const frame_word *)(o->mask + i);
	if (wrong)
		return 0;
	if (o->udp && frame_outer_get16(frame + (o->ipv6 ? FRAME_IPV6_UDP : FRAME_IPV4_UDP) + 4) !=
			  behind - ip)
		return 0;
	if (o->ipv6)
		return frame_outer_get16(frame + 18) == behind - FRAME_IPV6;
	return frame_outer_get16(frame + 16) == behind &&
	       frame_fold32(o->ip_sum + behind + frame_outer_get16(frame + 24)) == 0xffff;
}

#endif
