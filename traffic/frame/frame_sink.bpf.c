//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink: counts the frames of one session, flow by flow, and drops them; everything else passes.
 * It stands at XDP and at tc at once: what it drops at XDP does not come to tc, and what was put
 * behind XDP (bpf_redirect_peer) is counted at tc, so each frame counts once.
 *
 * sequence.go does the same sums in Go.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "frame_outer.h"
#include "frame_wire.h"

#define FRAME_HOOKS 2
#define AT_XDP 0
#define AT_TC FRAME_PHASES

/* Words of 8 bytes before a frame's number, from its type on or a little before. */
#define NEXT_IPV4 5
#define NEXT_IPV6 8
#define NEXT_CHECKSUM 2	     /* from the number back; the UDP checksum is in this one, */
#define NEXT_CHECKSUM_BIT 32 /* from here on */

#define TRIES 8 /* another CPU may count the same flow; it does not stay in between for long */
/* A number so much higher than any before it is none of ours. */
#define JUMP (1ULL << 31)

/*
 * foretold is what a frame says where most frames say what is expected. All that is computed of a
 * frame's bytes waits for them, as they come from another CPU's cache, but a branch is foretold: so
 * what is expected is gone on with. It is hidden from the compiler, which would know that both are
 * the same behind the branch, and take the frame's. bench/LEARNED.md has what it brings.
 */
static __always_inline __u64 foretold(__u64 says, __u64 expected)
{
	__u64 hidden = expected;

	asm volatile("" : "+r"(hidden));
	return says == expected ? hidden : says;
}

/* What Go sets before it loads the program. */
const volatile __u32 frame_flows = 1;
const volatile __u32 frame_words_per_flow = 2;	 /* a power of two */
const volatile __u32 frame_turns = 1;		 /* sizes that frames have in turn */
const volatile __u32 frame_lengths[FRAME_TURNS]; /* of them, without FCS */
const volatile __u32 frame_ipv6;
const volatile __u32 frame_shift;  /* how far back what frames wear puts the inner packet */
const volatile __u32 frame_shared; /* several CPUs may count one flow at the same time */
const volatile __u32 frame_timed;  /* the sender's clock is this machine's, so times are told */
const volatile __u32 frame_pieces; /* XDP sees frames that lie in several pages */

/* What Go sets before each trial: whose frames are counted. */
volatile __u32 frame_session;

/* What became of the frames of one phase at one hook on one CPU. Go has the same layout. */
struct frame_totals {
	__u64 packets; /* each number once */
	__u64 bytes;   /* of them, FCS counted */
	__u64 skipped; /* numbers that a higher one passed by; they may come yet */
	__u64 reordered;
	__u64 duplicate;
	__u64 late;
	__u64 corrupt;
	__u64 merged;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FRAME_HOOKS *FRAME_PHASES);
	__type(key, __u32);
	__type(value, struct frame_totals);
} frame_sums SEC(".maps");

/*
 * What is remembered of a flow: the number after the highest that has come, how many of the
 * window's frames have come, and which numbers have: 32 of them in the lower half of a word, their
 * block (number / 32) in the upper half. The words are a ring, as many as Go makes the values
 * large. A word is taken over by a newer block when that block's first number comes, so nothing is
 * cleared in a trial.
 */
#define FLOW_WINDOW 1
#define FLOW_WORDS 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* so that Go clears it at once, between trials */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, (FLOW_WORDS + 2) * sizeof(__u64));
} frame_flow SEC(".maps");

/* The window's frames that tell when they left, by how long they were on their way. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FRAME_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} frame_flights SEC(".maps");

/*
 * The shortest time under way in each part of the window, by when frames left, in units of 64 ns of
 * a clock that need not be the sender's: only differences count. What CPUs do here at once may get
 * lost, which is one frame of many.
 */
struct frame_floor {
	__s64 latest; /* the time under way of the frame before */
	__s64 begun;  /* when the window's first frame left; 0: none has come */
	__u64 shift;  /* of a part's length; Go knows the window */
	__s64 least[FRAME_PARTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frame_floor);
} frame_floors SEC(".maps");

/* What frames wear, if there is a shift. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frame_outer);
} frame_worn SEC(".maps");

/*
 * The frame that is expected next, where frames are of one flow and size: as the last of the window
 * that was intact, but for its number and its checksum, which are zero here.
 */
static struct {
	__u64 words[NEXT_IPV6];
	__u32 sum;     /* of what the checksum goes over, but the number */
	__u32 session; /* whose it is; 0: nobody's */
} frame_next;

static __always_inline __u64 *word_of(__u64 *flow, __u32 block)
{
	return flow + FLOW_WORDS + (block & (frame_words_per_flow - 1));
}

/*
 * swap puts a new value where the old one still is. At XDP, a device with one queue counts on one
 * CPU at a time, and need not pay for that.
 */
static __always_inline bool swap(__u32 hook, __u64 *at, __u64 was, __u64 now)
{
	if (hook != AT_XDP || frame_shared)
		return __sync_val_compare_and_swap(at, was, now) == was;
	*(volatile __u64 *)at = now;
	return true;
}

/* bump counts one more, where swap would put it. */
static __always_inline void bump(__u32 hook, __u64 *at)
{
	if (hook != AT_XDP || frame_shared)
		__sync_fetch_and_add(at, 1);
	else
		(*(volatile __u64 *)at)++;
}

/* mark notes that a number has come, and tells what it was. */
static __always_inline bool mark(struct frame_totals *sum, __u32 hook, __u64 *flow, __u64 number)
{
	__u32 block = number >> 5, bit = 1U << (number & 31);
	__u64 *word = word_of(flow, block);

	for (int i = 0; i < TRIES; i++) {
		__u64 was = *(volatile __u64 *)word;
		__s32 ahead = block - (__u32)(was >> 32);
		__u32 bits = ahead > 0 ? 0 : (__u32)was;

		if (ahead < 0) {
			sum->late++;
			return false;
		}
		if (bits & bit) {
			sum->duplicate++;
			return false;
		}
		if (swap(hook, word, was, (__u64)block << 32 | bits | bit))
			break;
	}
	return true;
}

static __always_inline void advance(struct frame_totals *sum, __u32 hook, __u64 *flow, __u64 number)
{
	for (int i = 0; i < TRIES; i++) {
		__u64 was = *(volatile __u64 *)flow;

		if (number < was) {
			sum->reordered++;
			return;
		}
		if (swap(hook, flow, was, number + 1)) {
			if (number > was)
				sum->skipped += number - was;
			return;
		}
	}
}

static __always_inline void note_flight(__u64 sequence, __u64 now)
{
	__u32 bucket = frame_bucket(1000 * frame_flight(sequence, now));
	__u64 *frames = bpf_map_lookup_elem(&frame_flights, &bucket);

	if (frames)
		(*frames)++;
}

/*
 * note_floor puts the times of frames that follow each other together to one that goes on, though a
 * frame has the low bits of its own only: no two that follow each other differ by half a second.
 */
static __always_inline void note_floor(__u64 sequence, __u64 now)
{
	__u32 key = 0;
	struct frame_floor *f = bpf_map_lookup_elem(&frame_floors, &key);
	__s64 latest, left;
	__u64 part;

	if (!f)
		return;
	latest = f->latest + frame_later(sequence, now, f->latest);
	left = (__s64)(now >> FRAME_LEFT_UNIT) - latest;
	f->latest = latest;
	if (!f->begun)
		f->begun = left;
	part = (__u64)(left - f->begun) >> (f->shift & 63);
	if (part < FRAME_PARTS && latest < f->least[part])
		f->least[part] = latest;
}

static __always_inline void note_times(__u64 sequence)
{
	__u64 now = bpf_ktime_get_ns();

	note_floor(sequence, now);
	if (frame_timed)
		note_flight(sequence, now);
}

/* tally counts a frame whose number had not come. */
static __always_inline void tally(struct frame_totals *sum, __u32 hook, __u64 *flow, __u32 phase,
				  __u32 length)
{
	sum->packets++;
	sum->bytes += length + FRAME_FCS;
	if (phase == FRAME_WINDOW)
		bump(hook, flow + FLOW_WINDOW);
}

static __always_inline void count(struct frame_totals *sum, __u32 hook, const __u8 *numbering,
				  __u32 phase, __u32 index, __u32 length)
{
	__u64 *flow = bpf_map_lookup_elem(&frame_flow, &index);
	__u64 sequence, turn, number;

	if (!flow)
		return;
	turn = *(volatile __u64 *)flow;
	sequence = foretold(bpf_be64_to_cpu(*(const __be64 *)(numbering + 10)), turn);
	number = sequence & FRAME_SEQUENCE;
	if (number >= turn + JUMP) {
		sum->corrupt++;
		return;
	}
	if (!mark(sum, hook, flow, number))
		return;
	tally(sum, hook, flow, phase, length);
	if (sequence > FRAME_SEQUENCE && phase == FRAME_WINDOW)
		note_times(sequence);
	advance(sum, hook, flow, number);
}

static __always_inline __u64 add_words(const __u8 *from, int words, __u64 sum)
{
#pragma unroll
	for (int i = 0; i < words; i++)
		sum += ((const __u32 *)from)[i];
	return sum;
}

/*
 * The checksum over addresses, UDP header and numbering; what follows is zero as it was sent, so it
 * adds nothing. A change in those zeros is not seen.
 */
static __always_inline bool intact(const __u8 *ip_addresses, int address_words, const __u8 *udp,
				   __u32 length)
{
	__u64 sum = add_words(ip_addresses, address_words, bpf_htons(17) + bpf_htons(length));

	sum = add_words(udp, (FRAME_UDP + FRAME_NUMBERING - 2) / 4, sum);
	sum += *(const __u16 *)(udp + FRAME_UDP + FRAME_NUMBERING - 2);
	return frame_sums_up(sum);
}

/* ours tells whether a UDP payload begins as this session's do. */
static __always_inline bool ours(const __u8 *numbering)
{
	return numbering[0] == FRAME_MAGIC && *(const __be32 *)(numbering + 2) == frame_session;
}

/* phase_of is as the frame says, which may be none; most frames are the window's. */
static __always_inline __u32 phase_of(const __u8 *numbering)
{
	return foretold(numbering[1], FRAME_WINDOW);
}

static __always_inline struct frame_totals *sums_of(__u32 phase, __u32 hook)
{
	__u32 key = hook + (phase & (FRAME_PHASES - 1));

	return bpf_map_lookup_elem(&frame_sums, &key);
}

/* length_of is what a frame of ours has by its number, without FCS. */
static __always_inline __u32 length_of(const __u8 *numbering)
{
	__u32 flow = bpf_ntohl(*(const __be32 *)(numbering + 6));
	__u32 sequence = bpf_ntohl(*(const __be32 *)(numbering + 14));

	return frame_lengths[frame_turn(frame_turns, flow, sequence)];
}

/* expects tells whether the next frame is foretold whole. */
static __always_inline bool expects(__u32 hook)
{
	return hook == AT_XDP && frame_flows == 1 && frame_turns == 1 && !frame_shift &&
	       !frame_shared;
}

static __always_inline int next_words(void)
{
	return frame_ipv6 ? NEXT_IPV6 : NEXT_IPV4;
}

/* expect has the next frame be as this one, which was intact. */
static __always_inline void expect(const __u8 *numbering)
{
	const frame_word *number = (const frame_word *)(numbering + FRAME_NUMBERING - 8);
	int words = next_words(), checksum_at = words - NEXT_CHECKSUM;
	const frame_word *from = number - words;
	__u32 checksum = (__u16)(from[checksum_at] >> NEXT_CHECKSUM_BIT);

#pragma unroll
	for (int i = 0; i < NEXT_IPV6; i++)
		if (i < words)
			frame_next.words[i] = from[i];
	frame_next.words[checksum_at] &= ~(0xffffULL << NEXT_CHECKSUM_BIT);
	frame_next.sum = (__u16)~frame_fold32(checksum + frame_words64(*number));
	frame_next.session = checksum ? frame_session : 0; /* zero: there is none */
}

/* differs tells whether the frame is another one than expected, with the number that is next. */
static __always_inline bool differs(const __u8 *numbering, __u64 next)
{
	const frame_word *number = (const frame_word *)(numbering + FRAME_NUMBERING - 8);
	int words = next_words(), checksum_at = words - NEXT_CHECKSUM;
	const frame_word *from = number - words;
	__u64 expected = bpf_cpu_to_be64(next);
	__u64 checksum = frame_checksum(frame_next.sum + frame_words64(expected));
	__u64 word = frame_next.words[checksum_at] | checksum << NEXT_CHECKSUM_BIT;
	__u64 wrong = (*number ^ expected) | (from[checksum_at] ^ word);

#pragma unroll
	for (int i = 0; i < NEXT_IPV6; i++)
		if (i < words && i != checksum_at)
			wrong |= from[i] ^ frame_next.words[i];
	return wrong;
}

/*
 * mark_next is mark for the number after the highest that has come, whose block is there already
 * unless it begins one.
 */
static __always_inline void mark_next(__u64 *flow, __u64 number)
{
	__u64 *word = word_of(flow, number >> 5);

	*word = (number & 31 ? *word : number >> 5 << 32) | 1ULL << (number & 31);
}

/*
 * came tells whether this is the frame that is expected next, and counts it then, as look would.
 * Only one branch waits for the frame's bytes, so that the CPU goes on to the frames behind it.
 */
static __always_inline bool came(const __u8 *frame, const __u8 *end)
{
	__u32 head = frame_ipv6 ? FRAME_IPV6_HEAD : FRAME_IPV4_HEAD;
	__u32 flow_key = 0, sum_key = AT_XDP + FRAME_WINDOW, length = frame_lengths[0];
	struct frame_totals *sum;
	__u64 *flow, number;

	if (!expects(AT_XDP) || frame_next.session != frame_session)
		return false;
	flow = bpf_map_lookup_elem(&frame_flow, &flow_key);
	sum = bpf_map_lookup_elem(&frame_sums, &sum_key);
	if (!flow || !sum || frame + head > end || end - frame < length)
		return false;
	number = *(volatile __u64 *)flow;
	if (differs(frame + head - FRAME_NUMBERING, number))
		return false;
	mark_next(flow, number);
	tally(sum, AT_XDP, flow, FRAME_WINDOW, length);
	*(volatile __u64 *)flow = number + 1;
	return true;
}

/* What is looked at: a frame, and its inner packet where it would be without what the frame wears.
 */
struct sight {
	const __u8 *frame, *inner, *end;
	__u32 length; /* of the frame from inner on */
	__u32 hook;
	__u32 together; /* frames in one, by GRO */
};

/* take counts one frame of ours, or several in one, whose lengths are not a frame's. */
static __always_inline void take(struct frame_totals *sum, const struct sight *s,
				 const __u8 *numbering, __u32 phase, bool whole, __u32 length)
{
	__u32 flow = bpf_ntohl(*(const __be32 *)(numbering + 6));

	if (!whole && s->together > 1)
		sum->merged += s->together;
	else if (!whole || flow >= frame_flows || phase >= FRAME_PHASES)
		sum->corrupt++;
	else if (phase == FRAME_PROBE)
		sum->packets++;
	else {
		count(sum, s->hook, numbering, phase, frame_flows > 1 ? flow : 0, length);
		if (phase == FRAME_WINDOW && expects(s->hook))
			expect(numbering);
	}
}

static __always_inline bool of_type(const struct sight *s, __u16 type)
{
	return frame_shift || *(const __u16 *)(s->inner + 12) == bpf_htons(type);
}

/* worn_right tells whether the frame wears what it should, if it should wear anything. */
static __always_inline bool worn_right(const struct sight *s, __u32 own)
{
	__u32 key = 0;
	const struct frame_outer *o;

	if (!frame_shift)
		return true;
	o = bpf_map_lookup_elem(&frame_worn, &key);
	return o && s->frame + FRAME_OUTER_MOST <= s->end &&
	       frame_outer_right(o, s->frame, own - FRAME_ETHERNET);
}

/* look returns the sums under which a frame was counted, or nothing if it is not ours. */
static __always_inline struct frame_totals *look_ipv4(const struct sight *s)
{
	const __u8 *frame = s->inner;
	const __u8 *udp = frame + FRAME_IPV4_UDP, *numbering = udp + FRAME_UDP;
	struct frame_totals *sum;
	__u32 phase, own, udp_length;
	bool whole;

	if (frame + FRAME_IPV4_HEAD > s->end || !of_type(s, 0x0800))
		return NULL;
	if (frame[14] != 0x45 || frame[23] != 17 ||
	    (*(const __u16 *)(frame + 20) & bpf_htons(0x3fff)) || !ours(numbering))
		return NULL;
	phase = phase_of(numbering);
	sum = sums_of(phase, s->hook);
	if (!sum)
		return NULL;
	own = length_of(numbering);
	udp_length = own - FRAME_IPV4_UDP;
	whole = s->length >= own &&
		*(const __u16 *)(frame + 16) == bpf_htons(own - FRAME_ETHERNET) &&
		*(const __u16 *)(udp + 4) == bpf_htons(udp_length);
	if (whole && *(const __u16 *)(udp + 6)) /* zero: some way has taken the checksum out */
		whole = intact(frame + 26, 2, udp, udp_length);
	take(sum, s, numbering, phase, whole && worn_right(s, own), own);
	return sum;
}

static __always_inline struct frame_totals *look_ipv6(const struct sight *s)
{
	const __u8 *frame = s->inner;
	const __u8 *udp = frame + FRAME_IPV6_UDP, *numbering = udp + FRAME_UDP;
	struct frame_totals *sum;
	__u32 phase, own, udp_length;
	bool whole;

	if (frame + FRAME_IPV6_HEAD > s->end || !of_type(s, 0x86dd))
		return NULL;
	if ((frame[14] >> 4) != 6 || frame[20] != 17 || !ours(numbering))
		return NULL;
	phase = phase_of(numbering);
	sum = sums_of(phase, s->hook);
	if (!sum)
		return NULL;
	own = length_of(numbering);
	udp_length = own - FRAME_IPV6_UDP;
	whole = s->length >= own && *(const __u16 *)(frame + 18) == bpf_htons(udp_length) &&
		*(const __u16 *)(udp + 4) == bpf_htons(udp_length) &&
		*(const __u16 *)(udp + 6) && /* RFC 8200, section 8.1: none may be without */
		intact(frame + 22, 8, udp, udp_length);
	take(sum, s, numbering, phase, whole && worn_right(s, own), own);
	return sum;
}

static __always_inline struct frame_totals *look(const __u8 *frame, const __u8 *end, __u32 length,
						 __u32 hook, __u32 together)
{
	const struct sight s = {frame,	 frame + frame_shift, end, length - frame_shift, hook,
				together};

	if (length < frame_shift)
		return NULL;
	return frame_ipv6 ? look_ipv6(&s) : look_ipv4(&s);
}

SEC("xdp")
int frame_at_xdp(struct xdp_md *ctx)
{
	const __u8 *frame = (const __u8 *)(long)ctx->data;
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	__u32 length = end - frame;

	if (came(frame, end))
		return XDP_DROP;
	if (frame_pieces) /* kernels before 5.18 do not know the helper */
		length = bpf_xdp_get_buff_len(ctx);
	return look(frame, end, length, AT_XDP, 1) ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int frame_at_tc(struct __sk_buff *skb)
{
	__u32 head = FRAME_IPV6_HEAD + frame_shift;

	if (skb->data + head > skb->data_end)
		bpf_skb_pull_data(skb, skb->len < head ? skb->len : head);
	return look((const __u8 *)(long)skb->data, (const __u8 *)(long)skb->data_end, skb->len,
		    AT_TC, skb->gso_segs)
		   ? TC_ACT_SHOT
		   : TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
