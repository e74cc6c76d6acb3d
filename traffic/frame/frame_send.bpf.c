//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sender: every live frame (BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES) gets its flow
 * and its number here, and leaves by the device in frame_out. One thread has one such program.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <asm-generic/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>
#include "frame_outer.h"
#include "frame_wire.h"

#define STILL 16	 /* bytes at a frame's begin that hardly ever change */
#define PAUSE_LOOKS 1024 /* at the clock in a pause, at most; each takes 10 ns or more */
/*
 * Frames of a batch that wait to be transmitted, at most, a power of two: 16 together
 * (DEV_MAP_BULK_SIZE in include/net/xdp.h), which go when one more is there.
 */
#define WAITING 32

/* A size of frames. */
struct frame_shape {
	__u8 head[72]; /* up to the flow's number; what changes is zero */
	__u32 length;  /* without FCS */
	__u32 udp_sum; /* of what does not change: pseudo header, UDP, payload */
	__u32 ip_sum;  /* of the IPv4 header without the address; only if that changes */
};

/* Memory that Go maps; bpf2go makes the same type for it. */
struct frame_sender {
	/* What Go writes before it starts. */
	struct frame_shape shapes[FRAME_TURNS];
	__u32 turns; /* how many of them there are */
	struct frame_outer outer;
	__u32 ipv6;
	__u32 addresses; /* the flow changes the source address, not ports */
	__u32 port;	 /* of the destination: the session's first */
	__u32 device;
	__u32 first;   /* flow of this thread */
	__u32 end;     /* the flow after its last */
	__u32 drop;    /* frames go nowhere: the null sink */
	__u32 stamped; /* frames tell when they left, if there is a rate */
	__u32 hold;    /* nothing is sent yet, or any more */
	/* A power of two: so many frames the kernel sends in turn, then it transmits them. A phase
	 * begins with a batch, so that what is refused is known to be of its phase. */
	__u32 batch;
	__u64 apart;	/* ns from one frame that tells it to the next, at least */
	__u64 epoch;	/* ns of CLOCK_MONOTONIC at which the first frame is due */
	__u64 interval; /* ps from one frame to the next; 0: as fast as it goes */
	__u64 depth;	/* ps that a late sender makes good at once; what is over is given up */
	/* What Go changes while frames are sent. */
	__u32 phase;
	__u32 pause; /* ns that a sender without a rate waits after the device refused frames */
	/* What the programs write. */
	__u32 flow;  /* of the next frame */
	__s32 error; /* of the last transmission that refused frames */
	__s32 lack;  /* of the last frame that found no way out: the device down, or its other end
			closed */
	__u64 sequence;
	__u64 due;     /* ps after the epoch, of the next frame */
	__u64 now;     /* ns of CLOCK_MONOTONIC at which the present frame was found due */
	__u64 telling; /* ns of CLOCK_MONOTONIC from which a frame tells when it left */
	__u64 resume;  /* ns of CLOCK_MONOTONIC until which a pause lasts; 0: there is none */
	__u64 task;    /* that sends; Go clears it before each run */
	__u64 runs;    /* of the program in this call of the kernel; Go clears it before */
	__u64 missed;  /* ps of the rate that were given up at a call's first frame: no thread was
			  there to send */
	__u64
	    failed;  /* ns of CLOCK_MONOTONIC at which a frame last found no way out; 0: none did */
	__u64 taken; /* frames that the device had taken by then */
	__u64 down;  /* ns between such frames, where the device took none meanwhile */
	__u32 current; /* phase of the kernel's present batch of frames */
	__u64 sent[FRAME_PHASES];
	__u64 refused[FRAME_PHASES];
	__u64 lag[FRAME_BUCKETS]; /* frames of the window by how late they were */
	/* At a rate, of the kernel's present batch: how many frames are on their way to the device,
	 * and of how many of them it is known whether that took them. */
	__u32 given;
	__u32 known;
	__u32 late;		/* bucket of the present frame's lateness */
	__u8 lateness[WAITING]; /* the same of those on their way, by their number in the batch */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frame_sender);
} frame_senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} frame_out SEC(".maps");

/*
 * A token bucket: whether the next frame is due. A frame that is not goes back to the pool at once
 * (XDP_DROP), and the kernel's loop asks again with the next, so waiting costs the CPU.
 */
static __always_inline bool due(struct frame_sender *s)
{
	__u64 now, passed;

	if (*(volatile __u32 *)&s->hold)
		return false;
	if (!s->interval)
		return true;
	now = bpf_ktime_get_ns();
	if (now < s->epoch)
		return false;
	passed = (now - s->epoch) * 1000;
	if (passed < s->due)
		return false;
	if ((s->current & (FRAME_PHASES - 1)) == FRAME_WINDOW) {
		__u32 bucket = frame_bucket(passed - s->due);

		asm volatile(""
			     : "+r"(bucket)); /* or the bound, which is so, would not be checked */
		s->lag[bucket & (FRAME_BUCKETS - 1)]++;
		s->late = bucket;
	}
	if (passed - s->due > s->depth) {
		if (s->runs == 1) /* else the thread was here, and the path kept it */
			s->missed += passed - s->depth - s->due;
		s->due = passed - s->depth;
	}
	s->due += s->interval;
	s->now = now;
	return true;
}

static long look_at_clock(__u64 index, struct frame_sender **sender)
{
	struct frame_sender *s = *sender;

	if (bpf_ktime_get_ns() < s->resume)
		return 0;
	s->resume = 0;
	return 1;
}

static __always_inline void pause_if_refused(struct frame_sender *s)
{
	struct frame_sender *sender = s; /* the verifier wants a callback's argument on the stack */

	if (s->resume)
		bpf_loop(PAUSE_LOOKS, look_at_clock, &sender, 0);
}

/* The numbering of one frame. */
struct number {
	__u32 phase;
	__u32 flow;
	__u64 sequence;
};

/* take numbers the next frame: the flows in turn, so that a flow's number is the round's. */
static __always_inline struct number take(struct frame_sender *s)
{
	struct number n = {
	    .phase = s->current & (FRAME_PHASES - 1),
	    .flow = s->flow,
	    .sequence = s->sequence,
	};
	__u32 next = n.flow + 1;

	if (next >= s->end) {
		next = s->first;
		s->sequence = n.sequence + 1;
	}
	s->flow = next;
	if (s->stamped && s->interval && s->now >= s->telling) {
		n.sequence |= frame_left(s->now);
		s->telling = s->now + s->apart;
	}
	return n;
}

static __always_inline __u32 number_sum(struct number n)
{
	return n.phase + frame_words(n.flow) + frame_words64(n.sequence);
}

/* ports are a flow's: source and destination, added into sum. */
static __always_inline void ports(struct frame_sender *s, __u32 low, __u32 high, __u16 *udp,
				  __u32 *sum)
{
	__u16 source = FRAME_SOURCE_PORT + low, destination = s->port + high;

	udp[0] = bpf_htons(source);
	udp[1] = bpf_htons(destination);
	*sum += source + destination;
}

static __always_inline void write_number(__u8 *at, struct number n)
{
	at[1] = n.phase;
	*(__be32 *)(at + 6) = bpf_htonl(n.flow);
	*(__be64 *)(at + 10) = bpf_cpu_to_be64(n.sequence);
}

/*
 * copy_words copies so many bytes into a frame, and what is left of the last word of eight.
 * __builtin_memcpy would copy each byte by itself, as the compiler takes packets to be unaligned.
 */
static __always_inline void copy_words(__u8 *frame, const __u8 *from, int bytes)
{
	for (int i = 0; i < bytes; i += 8)
		*(frame_word *)(frame + i) = *(const frame_word *)(from + i);
}

/*
 * copy_head copies what a frame begins with. The Ethernet header is mostly there already, as the
 * page has been that of a frame before, and is left alone then: the sink reads it, and a line of
 * the cache that nobody writes stays with both CPUs. bench/LEARNED.md has what it brings.
 */
static __always_inline void copy_head(__u8 *frame, const __u8 *head, int bytes)
{
	for (int i = 0; i < STILL; i += 8)
		if (*(frame_word *)(frame + i) != *(const frame_word *)(head + i))
			copy_words(frame + i, head + i, 8);
	copy_words(frame + STILL, head + STILL, bytes - STILL);
}

static __always_inline void write_ipv4(struct frame_sender *s, const struct frame_shape *of,
				       __u8 *frame, struct number n)
{
	__u32 sum = of->udp_sum + number_sum(n);
	__u32 bits = FRAME_PORT_BITS;
	__u32 low = n.flow & ((1 << FRAME_PORT_BITS) - 1);

	/* The page may have been changed on its last way, so all of it is written. */
	copy_head(frame, of->head, FRAME_IPV4_HEAD - 12);
	if (s->addresses) {
		__u32 source = FRAME_SOURCE_IPV4 + (n.flow & ((1 << FRAME_IPV4_BITS) - 1));

		bits = FRAME_IPV4_BITS;
		low = 0;
		*(__be32 *)(frame + 26) = bpf_htonl(source);
		sum += frame_words(source);
		*(__u16 *)(frame + 24) =
		    bpf_htons((__u16)~frame_fold32(of->ip_sum + frame_words(source)));
	}
	ports(s, low, n.flow >> bits, (__u16 *)(frame + FRAME_IPV4_UDP), &sum);
	*(__u16 *)(frame + FRAME_IPV4_UDP + 6) = bpf_htons(frame_checksum(sum));
	write_number(frame + FRAME_IPV4_HEAD - FRAME_NUMBERING, n);
}

static __always_inline void write_ipv6(struct frame_sender *s, const struct frame_shape *of,
				       __u8 *frame, struct number n)
{
	__u32 sum = of->udp_sum + number_sum(n);
	__u32 low = n.flow & ((1 << FRAME_PORT_BITS) - 1), high = n.flow >> FRAME_PORT_BITS;

	copy_head(frame, of->head, FRAME_IPV6_HEAD - 12);
	if (s->addresses) {
		low = high = 0;
		*(__be32 *)(frame + 34) = bpf_htonl(n.flow);
		sum += frame_words(n.flow);
	}
	ports(s, low, high, (__u16 *)(frame + FRAME_IPV6_UDP), &sum);
	*(__u16 *)(frame + FRAME_IPV6_UDP + 6) = bpf_htons(frame_checksum(sum));
	write_number(frame + FRAME_IPV6_HEAD - FRAME_NUMBERING, n);
}

/*
 * wear writes what the frame wears: all that there is room for, which what follows overwrites
 * behind it, as the buffer is as the frame before has left it.
 */
static __always_inline bool wear(const struct frame_outer *o, __u8 *frame, const __u8 *end)
{
	if (frame + FRAME_OUTER_MOST > end)
		return false;
	copy_words(frame, o->bytes, FRAME_OUTER_MOST);
	return true;
}

/* write_inner writes the frame that begins at a place, as if it wore nothing. */
static __always_inline bool write_inner(struct frame_sender *s, const struct frame_shape *of,
					__u8 *frame, const __u8 *end, struct number n)
{
	if (frame + FRAME_IPV4_HEAD > end)
		return false;
	if (!s->ipv6) {
		write_ipv4(s, of, frame, n);
		return true;
	}
	if (frame + FRAME_IPV6_HEAD > end)
		return false;
	write_ipv6(s, of, frame, n);
	return true;
}

/* write makes the buffer a frame; the kernel made it as large as the largest is. */
static __always_inline bool write(struct xdp_md *ctx, struct frame_sender *s, struct number n)
{
	const struct frame_shape *of = &s->shapes[frame_turn(s->turns, n.flow, n.sequence)];
	__u32 shift = frame_outer_shift(s->outer.length);
	__u8 *frame, *end;

	if (s->turns > 1) {
		__s32 length = ctx->data_end - ctx->data;

		if (bpf_xdp_adjust_tail(ctx, (__s32)(of->length + shift) - length))
			return false;
	}
	frame = (__u8 *)(long)ctx->data;
	end = (__u8 *)(long)ctx->data_end;
	if (!shift)
		return write_inner(s, of, frame, end, n);
	if (shift > FRAME_OUTER_MOST || !wear(&s->outer, frame, end) ||
	    !write_inner(s, of, frame + shift, end, n))
		return false;
	/* Last, because the inner frame's Ethernet header lies on a part of it. */
	frame_outer_put(&s->outer, frame, of->length - FRAME_ETHERNET, n.flow);
	return true;
}

/*
 * stay_down is for frames that found no way out, and are among the refused. A frame that waits
 * behind them to be transmitted counts as taken until its own turn.
 */
static __always_inline void stay_down(struct frame_sender *s, int error)
{
	__u64 now = bpf_ktime_get_ns(), taken = 0;

	for (int i = 0; i < FRAME_PHASES; i++)
		taken += s->sent[i] - s->refused[i];
	if (s->failed && taken <= s->taken + 1)
		s->down += now - s->failed;
	s->failed = now;
	s->taken = taken;
	s->lack = error;
}

static __always_inline void refuse(struct frame_sender *s, int frames, int error)
{
	s->refused[s->current & (FRAME_PHASES - 1)] += frames;
	s->error = error;
	if (error == -ENETDOWN || error == -ENXIO || error == -EOPNOTSUPP)
		stay_down(s, error);
}

/* forget takes a frame at a rate that did not leave out of the lateness of those that did. */
static __always_inline void forget(struct frame_sender *s, __u32 bucket)
{
	if ((s->current & (FRAME_PHASES - 1)) == FRAME_WINDOW)
		s->lag[bucket & (FRAME_BUCKETS - 1)]--;
}

/* note_transmitted is told of so many frames in turn, of which the last were refused. */
static __always_inline void note_transmitted(struct frame_sender *s, int sent, int refused)
{
	s->known += sent;
	for (int i = 0; i < WAITING && i < refused; i++)
		forget(s, s->lateness[s->known++ & (WAITING - 1)]);
}

SEC("xdp")
int frame_send(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct frame_sender *s = bpf_map_lookup_elem(&frame_senders, &key);

	if (!s)
		return XDP_ABORTED;
	if (!(s->runs++ & (s->batch - 1))) {
		s->current = s->phase;
		s->given = s->known = 0;
	}
	if (!due(s))
		return XDP_DROP;
	pause_if_refused(s);
	struct number n = take(s);

	if (!write(ctx, s, n))
		return XDP_ABORTED;
	s->sent[n.phase & (FRAME_PHASES - 1)]++;
	if (s->drop)
		return XDP_DROP;
	if (!s->task)
		s->task = bpf_get_current_pid_tgid();
	if (bpf_redirect_map(&frame_out, 0, XDP_DROP) == XDP_REDIRECT) {
		if (s->interval)
			s->lateness[s->given++ & (WAITING - 1)] = s->late;
		return XDP_REDIRECT;
	}
	if (s->interval)
		forget(s, s->late);
	refuse(s, 1, -ENODEV); /* the device is gone, and its place in the map empty */
	return XDP_DROP;
}

struct bpf_prog;
struct net_device {
	int ifindex;
} __attribute__((preserve_access_index));

/*
 * What goes on in the sender's own thread with a frame from this device is about its live frames:
 * they come from the loopback device (net/bpf/test_run.c), whose index is 1 in every namespace, and
 * what the thread's interrupts send comes from another.
 */
static __always_inline struct frame_sender *sender_of(const struct net_device *from)
{
	__u32 key = 0;
	struct frame_sender *s = bpf_map_lookup_elem(&frame_senders, &key);

	return s && s->task == bpf_get_current_pid_tgid() && from->ifindex == 1 ? s : NULL;
}

/*
 * Transmissions happen before the next batch. A frame that the device does not take is freed
 * without a word to the program, so this counts it.
 */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(frame_refused, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int error)
{
	struct frame_sender *s = sender_of(from);

	if (!s || to->ifindex != (int)s->device)
		return 0;
	if (s->interval)
		note_transmitted(s, sent, drops);
	if (drops <= 0)
		return 0;
	refuse(s, drops, error);
	if (!s->interval && s->pause)
		s->resume = bpf_ktime_get_ns() + s->pause;
	return 0;
}

/* A device that is down gets no frame at all (dev_map_enqueue, ENETDOWN). */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(frame_unsent, const struct net_device *from, const struct bpf_prog *program,
	     const void *to, int error)
{
	struct frame_sender *s = sender_of(from);

	if (!s)
		return 0;
	if (s->interval)
		forget(s, s->lateness[--s->given & (WAITING - 1)]);
	refuse(s, 1, error);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
