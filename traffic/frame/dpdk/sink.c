/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "sink.h"

#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "port.h"

/* A number so much higher than any before it is none of ours. */
#define JUMP (1ULL << 31)

/* What is remembered of a flow: the number after the highest, then these. */
#define FLOW_WINDOW 1
#define FLOW_WORDS 2

/* What was read of a frame, before its flow's memory is looked at. */
struct found {
	struct frame_totals *totals; /* NULL: not a frame of the session */
	uint64_t *flow;		     /* NULL: corrupt */
	uint64_t sequence;	     /* the number, and above it when it left */
	uint32_t length;	     /* without FCS */
	uint32_t phase;
};

int frame_sink_begin(struct frame_sink *s)
{
	s->memory =
	    rte_malloc("sequences",
		       sizeof(uint64_t) * (FLOW_WORDS * (size_t)FRAME_FLOWS + FRAME_WORDS_TOGETHER),
		       RTE_CACHE_LINE_SIZE);
	return s->memory ? 0 : -1;
}

const char *frame_sink_expect(struct frame_sink *s, const struct frame_expected *e)
{
	uint32_t head = e->ipv6 ? FRAME_IPV6_HEAD : FRAME_IPV4_HEAD;

	if (e->flows > FRAME_FLOWS)
		return "a number of flows that is too large";
	if (!e->flows && e->turns > 1)
		return "frames of several sizes, without numbers that tell which is whose";
	if (e->flows &&
	    (e->words < 2 || e->words > FRAME_WORDS_PER_FLOW || (e->words & (e->words - 1)) ||
	     (uint64_t)e->words * e->flows > FRAME_WORDS_TOGETHER))
		return "a number of words that is no power of two, or too large";
	for (uint32_t i = 0; i < e->turns; i++)
		if (e->lengths[i] < head || e->lengths[i] > FRAME_ROOM)
			return "frames of a length that has no room for the headers, or too long";
	memset(s->memory, 0, sizeof(uint64_t) * e->flows * (FLOW_WORDS + e->words));
	memset(s->totals, 0, sizeof(s->totals));
	memset(s->flights, 0, sizeof(s->flights));
	memset(s->from, 0, sizeof(s->from));
	s->foreign = 0;
	s->expected = *e;
	s->outer.length = 0;
	s->active = 1;
	return NULL;
}

const char *frame_sink_strip(struct frame_sink *s, const struct frame_outer *outer)
{
	for (uint32_t i = 0; i < s->expected.turns; i++)
		if (s->expected.lengths[i] + frame_outer_shift(outer->length) > FRAME_ROOM)
			return "frames that are too long with what they wear";
	s->outer = *outer;
	return NULL;
}

/* mark notes that a number has come, and tells whether it counts. */
static int mark(struct frame_totals *t, uint64_t *word, uint64_t number)
{
	uint32_t block = (uint32_t)(number >> 5), bit = 1u << (number & 31);
	int32_t ahead = (int32_t)(block - (uint32_t)(*word >> 32));
	uint32_t bits = ahead > 0 ? 0 : (uint32_t)*word;

	if (ahead < 0) {
		t->late++;
		return 0;
	}
	if (bits & bit) {
		t->duplicate++;
		return 0;
	}
	*word = (uint64_t)block << 32 | bits | bit;
	return 1;
}

static void count(struct frame_sink *s, const struct found *f, uint64_t now)
{
	struct frame_totals *t = f->totals;
	uint64_t next, number = f->sequence & FRAME_SEQUENCE;

	if (!f->flow) {
		t->corrupt++;
		return;
	}
	if (f->phase == FRAME_PROBE) {
		t->packets++;
		return;
	}
	next = *f->flow;
	if (number >= next + JUMP) {
		t->corrupt++;
		return;
	}
	if (!mark(t, f->flow + FLOW_WORDS + ((number >> 5) & (s->expected.words - 1)), number))
		return;
	t->packets++;
	t->bytes += f->length + FRAME_FCS;
	if (f->phase == FRAME_WINDOW)
		f->flow[FLOW_WINDOW]++;
	if (f->sequence > FRAME_SEQUENCE && f->phase == FRAME_WINDOW)
		s->flights[frame_bucket(1000 * frame_flight(f->sequence, now)) % FRAME_BUCKETS]++;
	if (number < next) {
		t->reordered++;
		return;
	}
	t->skipped += number - next;
	*f->flow = number + 1;
}

static uint64_t add(const uint8_t *at, uint32_t words)
{
	uint64_t sum = 0;
	uint32_t word;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, at + 4 * i, sizeof(word));
		sum += word;
	}
	return sum;
}

/* The checksum over addresses, UDP header and numbering; zeros follow. RFC 1071: the order of bytes
 * makes no difference, so words are added as they lie there. */
static int intact(const uint8_t *addresses, uint32_t words, const uint8_t *udp, uint32_t length)
{
	uint64_t sum =
	    add(addresses, words) + __builtin_bswap16(17) + __builtin_bswap16((uint16_t)length);
	uint16_t last;

	sum += add(udp, (FRAME_UDP + FRAME_NUMBERING - 2) / 4);
	memcpy(&last, udp + FRAME_UDP + FRAME_NUMBERING - 2, sizeof(last));
	return frame_sums_up(sum + last);
}

static int whole4(const uint8_t *b, uint32_t length, uint32_t expected)
{
	const uint8_t *udp = b + FRAME_IPV4_UDP;
	uint32_t bytes = expected - FRAME_IPV4_UDP;

	if (length < expected || frame_get16(b + 16) != expected - FRAME_ETHERNET ||
	    frame_get16(udp + 4) != bytes)
		return 0;
	/* Zero: some way has taken the checksum out (RFC 768). */
	return !frame_get16(udp + 6) || intact(b + 26, 2, udp, bytes);
}

static int whole6(const uint8_t *b, uint32_t length, uint32_t expected)
{
	const uint8_t *udp = b + FRAME_IPV6_UDP;
	uint32_t bytes = expected - FRAME_IPV6_UDP;

	/* RFC 8200, section 8.1: none may be without a checksum. */
	return length >= expected && frame_get16(b + 18) == bytes &&
	       frame_get16(udp + 4) == bytes && frame_get16(udp + 6) &&
	       intact(b + 22, 8, udp, bytes);
}

/* Where the UDP header is, if this may be one of the session's frames. */
static const uint8_t *udp_of(const uint8_t *b, uint32_t held, int ipv6, int worn)
{
	if (held < (ipv6 ? FRAME_IPV6_HEAD : FRAME_IPV4_HEAD))
		return NULL;
	if (!worn && frame_get16(b + 12) != (ipv6 ? 0x86dd : 0x0800))
		return NULL;
	if (ipv6)
		return b[14] >> 4 == 6 && b[20] == 17 ? b + FRAME_IPV6_UDP : NULL;
	if (b[14] != 0x45 || b[23] != 17 || (frame_get16(b + 20) & 0x3fff))
		return NULL;
	return b + FRAME_IPV4_UDP;
}

/* Whether a frame of the session is as it was sent, from what it wears to its end. */
static int whole(const struct frame_sink *s, const uint8_t *frame, const uint8_t *b,
		 uint32_t length, uint32_t expected)
{
	if (!(s->expected.ipv6 ? whole6(b, length, expected) : whole4(b, length, expected)))
		return 0;
	return !s->outer.length || frame_outer_right(&s->outer, frame, expected - FRAME_ETHERNET);
}

static struct found look(struct frame_sink *s, const struct rte_mbuf *m)
{
	const struct frame_expected *e = &s->expected;
	uint32_t shift = frame_outer_shift(s->outer.length), flow;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *b = frame + shift;
	const uint8_t *udp, *numbering;
	struct found f = {0};

	if (m->data_len < shift)
		return f;
	udp = udp_of(b, m->data_len - shift, e->ipv6, shift > 0);
	if (!udp)
		return f;
	numbering = udp + FRAME_UDP;
	if (numbering[0] != FRAME_MAGIC || frame_get32(numbering + 2) != e->session)
		return f;
	f.totals = &s->totals[numbering[1] & (FRAME_PHASES - 1)];
	f.phase = numbering[1];
	f.sequence = frame_get64(numbering + 10);
	flow = frame_get32(numbering + 6);
	f.length = e->lengths[frame_turn(e->turns, flow, (uint32_t)f.sequence)];
	if (numbering[1] >= FRAME_PHASES || flow >= e->flows ||
	    !whole(s, frame, b, m->pkt_len - shift, f.length))
		return f;
	f.flow = s->memory + (size_t)flow * (FLOW_WORDS + e->words);
	rte_prefetch0(f.flow);
	return f;
}

/* A frame of somebody else's is known by its length and by what it wears; what it says of its own
 * lengths is to be so, and its checksum is not looked at. */
static void take_unnumbered(struct frame_sink *s, const struct rte_mbuf *m)
{
	const uint32_t shift = frame_outer_shift(s->outer.length), length = s->expected.lengths[0];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *b = frame + shift, *udp;
	struct frame_totals *t = &s->totals[FRAME_WINDOW];
	uint16_t from;

	udp = m->data_len < shift ? NULL
				  : udp_of(b, m->data_len - shift, s->expected.ipv6, shift > 0);
	if (!udp || m->pkt_len < length + shift ||
	    frame_get16(udp + 4) != length - (uint32_t)(udp - b)) {
		s->foreign++;
		return;
	}
	if (s->outer.length && !frame_outer_right(&s->outer, frame, length - FRAME_ETHERNET)) {
		t->corrupt++;
		return;
	}
	from = frame_get16(udp);
	s->from[from / 64] |= 1ULL << (from % 64);
	t->packets++;
	t->bytes += length + FRAME_FCS;
}

struct frame_spread frame_sink_spread(const struct frame_sink *s)
{
	struct frame_spread spread = {.fewest = s->expected.flows ? UINT64_MAX : 0};

	for (uint32_t i = 0; i < s->expected.flows; i++) {
		uint64_t frames =
		    s->memory[(size_t)i * (FLOW_WORDS + s->expected.words) + FLOW_WINDOW];

		spread.came += frames > 0;
		if (frames < spread.fewest)
			spread.fewest = frames;
		if (frames > spread.most)
			spread.most = frames;
	}
	return spread;
}

uint32_t frame_sink_flows(const struct frame_sink *s)
{
	uint32_t flows = 0;

	for (uint32_t i = 0; i < FRAME_PORTS_OF_UDP / 64; i++)
		flows += (uint32_t)__builtin_popcountll(s->from[i]);
	return flows;
}

void frame_sink_take(struct frame_sink *s, struct rte_mbuf **mbufs, uint16_t count_)
{
	struct found all[FRAME_BURST];
	uint64_t now;

	if (!s->active)
		return;
	now = frame_now();
	for (uint16_t i = 0; i < count_; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
	for (uint16_t i = 0; i < count_ && !s->expected.flows; i++)
		take_unnumbered(s, mbufs[i]);
	if (!s->expected.flows)
		return;
	for (uint16_t i = 0; i < count_; i++)
		all[i] = look(s, mbufs[i]);
	for (uint16_t i = 0; i < count_; i++) {
		if (all[i].totals)
			count(s, &all[i], now);
		else
			s->foreign++;
	}
}
