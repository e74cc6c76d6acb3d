/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "source.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "port.h"

_Static_assert(FRAME_BURST <= 64, "a burst has to fit what may wait");

static uint32_t shift_of(const struct frame_plan *plan)
{
	return frame_outer_shift(plan->outer.length);
}

static const char *fits(const struct frame_plan *plan, const struct frame_shape *shape)
{
	uint32_t head = plan->ipv6 ? FRAME_IPV6_HEAD : FRAME_IPV4_HEAD;

	if (shape->length < head || shape->length > FRAME_ROOM - shift_of(plan))
		return "frames of a length that has no room for the headers, or too long";
	return NULL;
}

const char *frame_source_begin(struct frame_port *p, const struct frame_plan *plan)
{
	struct frame_source *s = &p->source;
	const char *bad = fits(plan, &plan->shapes[0]);

	if (bad)
		return bad;
	if (plan->first >= plan->end)
		return "no flows";
	frame_source_end(s);
	memset(s, 0, sizeof(*s));
	s->session = ++p->sessions;
	s->plan = *plan;
	s->plan.turns = 1;
	s->next.flow = plan->first;
	s->active = 1;
	return NULL;
}

const char *frame_source_turn(struct frame_port *p, const struct frame_shape *shape)
{
	struct frame_plan *plan = &p->source.plan;
	const char *bad = fits(plan, shape);

	if (!bad && p->source.calls)
		bad = "frames have been sent already";
	if (!bad && plan->turns == FRAME_TURNS)
		bad = "more sizes than frames can have in turn";
	if (!bad)
		plan->shapes[plan->turns++] = *shape;
	return bad;
}

const char *frame_source_wear(struct frame_source *s, const struct frame_outer *outer)
{
	const char *bad = NULL;

	s->plan.outer = *outer;
	for (uint32_t i = 0; !bad && i < s->plan.turns; i++)
		bad = fits(&s->plan, &s->plan.shapes[i]);
	if (bad)
		s->plan.outer.length = 0;
	return bad;
}

static void drop_waiting(struct frame_source *s)
{
	if (s->count > s->at)
		rte_pktmbuf_free_bulk(s->waiting + s->at, s->count - s->at);
	s->at = s->count = 0;
}

void frame_source_renumber(struct frame_source *s)
{
	drop_waiting(s);
	s->probes = 0;
	s->next = (struct frame_number){.flow = s->plan.first};
}

void frame_source_release(struct frame_source *s)
{
	s->next = (struct frame_number){.phase = s->next.phase, .flow = s->plan.first};
	s->due = (double)rte_rdtsc();
	s->running = 1;
}

void frame_source_end(struct frame_source *s)
{
	drop_waiting(s);
	s->active = s->running = 0;
}

/* How many frames are due now. */
static uint32_t ready(struct frame_source *s)
{
	double now, late, to_ps;
	uint32_t n = 0;

	if (s->interval == 0)
		return FRAME_BURST;
	now = (double)rte_rdtsc();
	to_ps = 1e12 / (double)rte_get_tsc_hz();
	for (; n < FRAME_BURST && now >= s->due; n++) {
		late = now - s->due;
		if (s->next.phase == FRAME_WINDOW)
			s->lag[frame_bucket((uint64_t)(late * to_ps)) % FRAME_BUCKETS]++;
		if (late > s->depth)
			s->due = now - s->depth;
		s->due += s->interval;
	}
	return n;
}

static uint32_t number_sum(const struct frame_number *n)
{
	return n->phase + frame_words(n->flow) + frame_words64(n->sequence);
}

/* A flow's address, into the packet; what it adds to the checksum. */
static uint32_t address(const struct frame_plan *plan, uint32_t ip_sum, uint8_t *b, uint32_t flow)
{
	uint32_t from = FRAME_SOURCE_IPV4 + (flow & ((1u << FRAME_IPV4_BITS) - 1));

	if (plan->ipv6) {
		frame_put32(b + 34, flow);
		return frame_words(flow);
	}
	frame_put32(b + 26, from);
	frame_put16(b + 24, (uint16_t)~frame_fold32(ip_sum + frame_words(from)));
	return frame_words(from);
}

static void write(const struct frame_plan *plan, const struct frame_shape *shape, uint8_t *b,
		  const struct frame_number *n)
{
	uint8_t *udp = b + (plan->ipv6 ? FRAME_IPV6_UDP : FRAME_IPV4_UDP);
	uint8_t *numbering = udp + FRAME_UDP;
	uint32_t low = n->flow & ((1u << FRAME_PORT_BITS) - 1), high = n->flow >> FRAME_PORT_BITS;
	uint32_t sum = shape->udp_sum + number_sum(n);
	uint16_t from, to;

	if (plan->addresses) {
		sum += address(plan, shape->ip_sum, b, n->flow);
		low = 0;
		high = plan->ipv6 ? 0 : n->flow >> FRAME_IPV4_BITS;
	}
	from = (uint16_t)(FRAME_SOURCE_PORT + low);
	to = (uint16_t)(plan->port + high);
	frame_put16(udp, from);
	frame_put16(udp + 2, to);
	frame_put16(udp + 6, frame_checksum(sum + from + to));
	numbering[1] = (uint8_t)n->phase;
	frame_put32(numbering + 6, n->flow);
	frame_put64(numbering + 10, n->sequence);
}

/* Writes what all frames of a session have in common, into a buffer that comes to it for the first
 * time; one that the port gives back still has it, but for what a size changes. Those of the
 * session before may still be in the port's ring: so a buffer tells its session, in a field that
 * no driver uses for sending. */
static void prepare(const struct frame_source *s, const struct frame_shape *shape,
		    struct rte_mbuf *m, uint8_t *b)
{
	int known = m->hash.usr == s->session;

	if (known && s->plan.turns == 1)
		return;
	m->hash.usr = s->session;
	if (!known)
		memset(b, 0, s->plan.turns == 1 ? shape->length : FRAME_ROOM - shift_of(&s->plan));
	memcpy(b, shape->head, RTE_MIN(shape->length, (uint32_t)FRAME_HEAD_MOST));
}

/* Writes the outer header, over what an inner packet has before its IP header. */
static void wrap(const struct frame_plan *plan, const struct frame_shape *shape, uint8_t *b,
		 uint32_t flow)
{
	memcpy(b, plan->outer.bytes, plan->outer.length);
	frame_outer_put(&plan->outer, b, shape->length - FRAME_ETHERNET, flow);
}

/* Writes up to so many frames, which then wait. */
static void fill(struct frame_port *p, uint32_t most)
{
	struct frame_source *s = &p->source;
	uint32_t shift = shift_of(&s->plan);
	uint64_t left = s->plan.tells && s->interval > 0 ? frame_left(frame_now()) : 0;

	if (most == 0 || rte_pktmbuf_alloc_bulk(p->sends, s->waiting, most))
		return; /* all buffers are in the port's ring */
	for (uint32_t i = 0; i < most; i++) {
		struct rte_mbuf *m = s->waiting[i];
		struct frame_number number;
		uint8_t *b = rte_pktmbuf_mtod(m, uint8_t *);
		const struct frame_shape *shape = &s->plan.shapes[frame_turn(
		    s->plan.turns, s->next.flow, (uint32_t)s->next.sequence)];

		prepare(s, shape, m, b + shift);
		m->data_len = (uint16_t)(shape->length + shift);
		m->pkt_len = shape->length + shift;
		number = s->next;
		number.sequence |= left;
		write(&s->plan, shape, b + shift, &number);
		if (shift)
			wrap(&s->plan, shape, b, s->next.flow);
		if (++s->next.flow == s->plan.end) {
			s->next.flow = s->plan.first;
			s->next.sequence++;
		}
	}
	s->at = 0;
	s->count = most;
	s->turned_away = 0;
	s->phase = s->next.phase;
}

uint32_t frame_source_send(struct frame_port *p)
{
	struct frame_source *s = &p->source;
	uint32_t taken, most;

	if (s->at == s->count) {
		if (s->probes)
			most = (uint32_t)RTE_MIN(s->probes, (uint64_t)FRAME_BURST);
		else if (s->running)
			most = ready(s);
		else
			return 0;
		fill(p, most);
		if (s->at == s->count)
			return 0;
		s->probes -= RTE_MIN(s->probes, (uint64_t)s->count);
	}
	taken = rte_eth_tx_burst(p->device, 0, s->waiting + s->at, (uint16_t)(s->count - s->at));
	s->calls++;
	s->at += taken;
	s->sent[s->phase] += taken;
	if (!s->turned_away && s->at < s->count) { /* what is offered again counts once */
		s->turned_away = 1;
		s->refused[s->phase] += s->count - s->at;
	}
	return taken;
}
