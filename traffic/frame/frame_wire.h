/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The bytes of a frame, as layout.go describes them, and sums of them. Offsets count from the
 * frame's begin: Ethernet, IPv4 without options or IPv6 without extensions, UDP, the numbering.
 */
#ifndef FRAME_WIRE_H
#define FRAME_WIRE_H

#define FRAME_ETHERNET 14
#define FRAME_IPV4 20
#define FRAME_IPV6 40
#define FRAME_UDP 8
#define FRAME_NUMBERING 18 /* magic, phase, session (4), flow (4), sequence (8) */
#define FRAME_MAGIC 0x57
#define FRAME_PHASES 4 /* warm-up, window, after, probe */
#define FRAME_WINDOW 1
#define FRAME_PROBE 3

/*
 * Above so many bits of the sequence is when the frame left, in units of 64 ns of its node's clock,
 * 0 where that is not told. A sink on the same machine subtracts it from its own now, which is
 * right up to half a second.
 */
#define FRAME_LEFT_SHIFT 40
#define FRAME_LEFT_UNIT 6
#define FRAME_LEFT_MASK 0xffffff
#define FRAME_LEFT_EARLY 16 /* units by which two CPUs' clocks may differ */
#define FRAME_SEQUENCE ((1ULL << FRAME_LEFT_SHIFT) - 1)

/* Parts of a window, of each of which the shortest time under way is kept; traffic/floor.go. */
#define FRAME_PARTS 32

/* Four buckets for each power of two of 1024 ps; lag_linux.go. */
#define FRAME_BUCKETS 256 /* fewer are used */
#define FRAME_BUCKET_UNIT 10

#define FRAME_IPV4_UDP (FRAME_ETHERNET + FRAME_IPV4)
#define FRAME_IPV6_UDP (FRAME_ETHERNET + FRAME_IPV6)
#define FRAME_IPV4_HEAD (FRAME_IPV4_UDP + FRAME_UDP + FRAME_NUMBERING)
#define FRAME_IPV6_HEAD (FRAME_IPV6_UDP + FRAME_UDP + FRAME_NUMBERING)

/* What a flow's low bits change: the source port, and the rest the destination port. */
#define FRAME_SOURCE_PORT 0x8000
#define FRAME_PORT_BITS 15
/* RFC 2544, appendix C.2.2: 198.18.0.0/15 is for benchmarks; RFC 5180: 2001:2::/48. */
#define FRAME_SOURCE_IPV4 0xc6120000
#define FRAME_IPV4_BITS 17

/* So many sizes frames may have in turn. */
#define FRAME_TURNS 16
#define FRAME_FCS 4

/* Whose turn it is: the sizes come one after the other in a flow, and in a round of flows. */
static __always_inline __u32 frame_turn(__u32 turns, __u32 flow, __u32 sequence)
{
	return turns > 1 ? (flow + sequence) % turns & (FRAME_TURNS - 1) : 0;
}

/*
 * RFC 1071: whether what a checksum goes over and that itself are all ones when the carries are
 * added to the sum, which is of words without, and not 0: whether it is a multiple of 0xffff. Times
 * the inverse of 0xffff modulo 2^64, multiples become the smallest numbers, and no others do
 * (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994, section 9).
 */
static __always_inline int frame_sums_up(__u64 sum)
{
	return sum * 0xfffefffefffeffff <= ~0ULL / 0xffff;
}

/* RFC 1071: the sum of 16-bit words with the carries added, of a sum without. */
static __always_inline __u16 frame_fold32(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

/* RFC 768: the checksum of such a sum; zero would say that there is none. */
static __always_inline __u16 frame_checksum(__u32 sum)
{
	__u16 folded = (__u16)~frame_fold32(sum);

	return folded ? folded : 0xffff;
}

static __always_inline __u32 frame_words(__u32 value)
{
	return (value >> 16) + (value & 0xffff);
}

static __always_inline __u32 frame_words64(__u64 value)
{
	return frame_words((__u32)value) + frame_words((__u32)(value >> 32));
}

/* frame_left is what is put above a sequence. */
static __always_inline __u64 frame_left(__u64 ns)
{
	__u64 units = ns >> FRAME_LEFT_UNIT & FRAME_LEFT_MASK;

	return (units ? units : 1) << FRAME_LEFT_SHIFT;
}

/* frame_flight is for how many ns a frame with such a sequence was on its way. */
static __always_inline __u64 frame_flight(__u64 sequence, __u64 now)
{
	__u64 units = ((now >> FRAME_LEFT_UNIT) - (sequence >> FRAME_LEFT_SHIFT)) & FRAME_LEFT_MASK;

	return units > FRAME_LEFT_MASK - FRAME_LEFT_EARLY ? 0 : units << FRAME_LEFT_UNIT;
}

/*
 * frame_later is by how many units more than before a frame with such a sequence was on its way;
 * right up to half a second.
 */
static __always_inline __s64 frame_later(__u64 sequence, __u64 now, __s64 before)
{
	__u64 units = (now >> FRAME_LEFT_UNIT) - (sequence >> FRAME_LEFT_SHIFT) - before;

	return (__s64)(units << FRAME_LEFT_SHIFT) >> FRAME_LEFT_SHIFT;
}

/* frame_bucket is the bucket of a time in ps. */
static __always_inline __u32 frame_bucket(__u64 ps)
{
	__u64 v = ps >> FRAME_BUCKET_UNIT;
	__u32 power = 0;

	if (v < 4)
		return v;
	for (int step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			power += step;
		}
	}
	return power * 4 - 4 + ((ps >> FRAME_BUCKET_UNIT >> (power - 2)) & 3);
}

#endif
