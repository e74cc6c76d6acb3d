/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#define PROBE_MOST 1024 /* frames */
/* A port that does not take a probe in so long does not at all. */
#define LOOKS 500
#define LOOK 1000 /* us */

/* One request under way. The core reads and writes it. */
struct request {
	struct frame_core *core;
	struct frame_owners *owners;
	uint32_t client;
	uint32_t slot; /* of the port */
	struct frame_port *port;
	char *rest; /* words that are not read yet */
	const char *bad;
	uint64_t numbers[8];
	struct frame_expected expected;
	struct frame_plan plan;
	struct frame_outer outer;
	uint64_t ns;
	struct frame_cycles cycles;
	struct frame_totals totals[FRAME_PHASES];
	uint32_t flows;
	uint64_t foreign, calls, sent[FRAME_PHASES], refused[FRAME_PHASES];
	uint64_t lag[FRAME_BUCKETS];
	struct frame_spread spread;
	char *answer;
	int length;
};

static void say(struct request *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	r->length +=
	    vsnprintf(r->answer + r->length, (size_t)(FRAME_LINE - 2 - r->length), format, list);
	va_end(list);
	if (r->length > FRAME_LINE - 2)
		r->length = FRAME_LINE - 2;
}

static void say_clock(struct request *r)
{
	say(r, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, r->ns, rte_get_tsc_hz(),
	    r->cycles.sending, r->cycles.receiving, r->cycles.idle);
}

/* Reads so many numbers, none over its bound. */
static int read_numbers(struct request *r, uint32_t count, const uint64_t *most)
{
	for (uint32_t i = 0; i < count; i++) {
		char *word = strtok_r(NULL, " ", &r->rest), *end;

		if (!word || word[0] < '0' || word[0] > '9') {
			r->bad = "a number is missing";
			return -1;
		}
		errno = 0;
		r->numbers[i] = strtoull(word, &end, 10);
		if (*end || errno || r->numbers[i] > most[i]) {
			r->bad = "a number that is none, or too large";
			return -1;
		}
	}
	return 0;
}

static int ended(struct request *r)
{
	if (!strtok_r(NULL, " ", &r->rest))
		return 1;
	r->bad = "more words than the request has";
	return 0;
}

/* Makes the core's part of a request. */
static void on_core(struct request *r, void (*call)(struct frame_core *, void *))
{
	frame_core_call(r->core, call, r);
}

static void note_clock(struct frame_core *c, struct request *r)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	r->ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	r->cycles = c->cycles;
}

/* Whether the part of a port is free for this connection, or its own. */
static int take(struct request *r, uint32_t *owner, const char *other)
{
	if (*owner && *owner != r->client) {
		r->bad = other;
		return 0;
	}
	return 1;
}

static int own(struct request *r, const uint32_t *owner, const char *none)
{
	if (*owner == r->client)
		return 1;
	r->bad = none;
	return 0;
}

#define OWN_SINK(r) own(r, &(r)->owners->sink[(r)->slot], "this connection has no sink there")
#define OWN_SOURCE(r) own(r, &(r)->owners->source[(r)->slot], "this connection has no source there")

static void core_sink(struct frame_core *c, void *about)
{
	struct request *r = about;

	r->bad = frame_sink_expect(&r->port->sink, &r->expected);
	note_clock(c, r);
}

/* Reads 1 or more lengths, up to the end of the line. */
static int read_lengths(struct request *r)
{
	static const uint64_t most[] = {FRAME_ROOM};
	struct frame_expected *e = &r->expected;

	do {
		if (e->turns == FRAME_TURNS) {
			r->bad = "more sizes than frames can have in turn";
			return -1;
		}
		if (read_numbers(r, 1, most))
			return -1;
		e->lengths[e->turns++] = (uint32_t)r->numbers[0];
	} while (*r->rest);
	return 0;
}

static void sink(struct request *r)
{
	static const uint64_t most[] = {UINT32_MAX, FRAME_FLOWS, FRAME_WORDS_PER_FLOW, 1};
	const uint64_t *n = r->numbers;

	if (read_numbers(r, 4, most))
		return;
	r->expected = (struct frame_expected){.session = (uint32_t)n[0],
					      .flows = (uint32_t)n[1],
					      .words = (uint32_t)n[2],
					      .ipv6 = (int)n[3]};
	if (read_lengths(r) ||
	    !take(r, &r->owners->sink[r->slot], "somebody else counts at this port"))
		return;
	on_core(r, core_sink);
	if (r->bad)
		return;
	r->owners->sink[r->slot] = r->client;
	say_clock(r);
}

static void core_tally(struct frame_core *c, void *about)
{
	struct request *r = about;

	memcpy(r->totals, r->port->sink.totals, sizeof(r->totals));
	r->foreign = r->port->sink.foreign;
	r->flows = frame_sink_flows(&r->port->sink);
	note_clock(c, r);
}

static void tally(struct request *r)
{
	if (!ended(r) || !OWN_SINK(r))
		return;
	on_core(r, core_tally);
	say_clock(r);
	for (uint32_t i = 0; i < FRAME_PHASES; i++) {
		const struct frame_totals *t = &r->totals[i];

		say(r,
		    " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		    " %" PRIu64,
		    t->packets, t->skipped, t->reordered, t->duplicate, t->late, t->corrupt,
		    t->bytes);
	}
	say(r, " %" PRIu64 " %" PRIu32, r->foreign, r->flows);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes in hexadecimal digits; how many there were, or 0 if that is not what is there. */
static uint32_t read_bytes(struct request *r, uint8_t *into, size_t most, const char *bad)
{
	const char *hex = strtok_r(NULL, " ", &r->rest);
	size_t bytes = hex ? strlen(hex) / 2 : 0;

	r->bad = bad;
	if (!bytes || strlen(hex) % 2 || bytes > most)
		return 0;
	for (size_t i = 0; i < bytes; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		into[i] = (uint8_t)(high * 16 + low);
	}
	r->bad = NULL;
	return (uint32_t)bytes;
}

/* A size: its length and sums, and its frames' first bytes, in hexadecimal digits. */
static int read_shape(struct request *r)
{
	static const uint64_t most[] = {FRAME_ROOM, UINT32_MAX, UINT32_MAX};
	static const char bad[] = "a head that is not 1 to 80 bytes in hexadecimal digits";
	struct frame_shape *to = &r->plan.shapes[0];

	if (read_numbers(r, 3, most) || !read_bytes(r, to->head, FRAME_HEAD_MOST, bad))
		return -1;
	to->length = (uint32_t)r->numbers[0];
	to->udp_sum = (uint32_t)r->numbers[1];
	to->ip_sum = (uint32_t)r->numbers[2];
	return ended(r) ? 0 : -1;
}

static void core_source(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->bad = frame_source_begin(r->port, &r->plan);
}

static void source(struct request *r)
{
	static const uint64_t most[] = {1, 1, 1, UINT16_MAX, FRAME_FLOWS, FRAME_FLOWS};
	const uint64_t *n = r->numbers;

	if (read_numbers(r, 6, most))
		return;
	r->plan.ipv6 = (int)n[0];
	r->plan.addresses = (int)n[1];
	r->plan.tells = (int)n[2];
	r->plan.port = (uint32_t)n[3];
	r->plan.first = (uint32_t)n[4];
	r->plan.end = (uint32_t)n[5];
	if (read_shape(r) ||
	    !take(r, &r->owners->source[r->slot], "somebody else sends at this port"))
		return;
	on_core(r, core_source);
	if (!r->bad)
		r->owners->source[r->slot] = r->client;
}

static void core_turn(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->bad = frame_source_turn(r->port, &r->plan.shapes[0]);
}

static void turn(struct request *r)
{
	if (!read_shape(r) && OWN_SOURCE(r))
		on_core(r, core_turn);
}

/* An outer header: IPV6 UDP IP-SUM BYTES MASK, and nothing behind. */
static int read_outer(struct request *r)
{
	static const uint64_t most[] = {1, 1, UINT32_MAX};
	static const char bad[] = "an outer header, or its mask, that is not 42 to 88 bytes in "
				  "hexadecimal digits";
	struct frame_outer *o = &r->outer;
	uint32_t mask;

	if (read_numbers(r, 3, most))
		return -1;
	o->ipv6 = (uint32_t)r->numbers[0];
	o->udp = (uint32_t)r->numbers[1];
	o->ip_sum = (uint32_t)r->numbers[2];
	o->length = read_bytes(r, o->bytes, FRAME_OUTER_MOST, bad);
	mask = o->length ? read_bytes(r, o->mask, FRAME_OUTER_MOST, bad) : 0;
	if (!mask)
		return -1;
	if (mask != o->length || mask < FRAME_OUTER_LEAST) {
		r->bad = bad;
		return -1;
	}
	return ended(r) ? 0 : -1;
}

static void core_wear(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->bad = frame_source_wear(&r->port->source, &r->outer);
}

static void wear(struct request *r)
{
	if (!read_outer(r) && OWN_SOURCE(r))
		on_core(r, core_wear);
}

static void core_strip(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->bad = frame_sink_strip(&r->port->sink, &r->outer);
}

static void strip(struct request *r)
{
	if (!read_outer(r) && OWN_SINK(r))
		on_core(r, core_strip);
}

static void core_rate(struct frame_core *c, void *about)
{
	struct request *r = about;
	double cycles = (double)rte_get_tsc_hz() / 1e12; /* a ps */

	(void)c;
	r->port->source.interval = (double)r->numbers[0] * cycles;
	r->port->source.depth = (double)r->numbers[1] * cycles;
}

static void rate(struct request *r)
{
	static const uint64_t most[] = {UINT64_MAX / 2, UINT64_MAX / 2};

	if (!read_numbers(r, 2, most) && ended(r) && OWN_SOURCE(r))
		on_core(r, core_rate);
}

static void core_probe(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->port->source.next.phase = FRAME_PROBE;
	r->port->source.probes = r->numbers[0];
}

static void core_probed(struct frame_core *c, void *about)
{
	struct request *r = about;
	const struct frame_source *s = &r->port->source;

	(void)c;
	r->numbers[1] = s->probes == 0 && s->at == s->count;
}

static void core_unprobe(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	frame_source_renumber(&r->port->source);
}

static void probe(struct request *r)
{
	static const uint64_t most[] = {PROBE_MOST};

	if (read_numbers(r, 1, most) || !ended(r) || !OWN_SOURCE(r))
		return;
	on_core(r, core_probe);
	for (int i = 0; i < LOOKS; i++) {
		on_core(r, core_probed);
		if (r->numbers[1])
			break;
		usleep(LOOK);
	}
	on_core(r, core_unprobe);
	if (!r->bad && !r->numbers[1])
		r->bad = "the port did not take a probe's frames: its other side is not there, or "
			 "does not read";
}

static void core_release(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	frame_source_release(&r->port->source);
}

static void release(struct request *r)
{
	if (ended(r) && OWN_SOURCE(r))
		on_core(r, core_release);
}

static void core_phase(struct frame_core *c, void *about)
{
	struct request *r = about;

	r->port->source.next.phase = (uint32_t)r->numbers[0];
	r->calls = r->port->source.calls;
	note_clock(c, r);
}

static void phase(struct request *r)
{
	static const uint64_t most[] = {FRAME_PROBE - 1};

	if (read_numbers(r, 1, most) || !ended(r) || !OWN_SOURCE(r))
		return;
	on_core(r, core_phase);
	say_clock(r);
	say(r, " %" PRIu64, r->calls);
}

static void core_sent(struct frame_core *c, void *about)
{
	struct request *r = about;
	const struct frame_source *s = &r->port->source;

	memcpy(r->sent, s->sent, sizeof(r->sent));
	memcpy(r->refused, s->refused, sizeof(r->refused));
	memcpy(r->lag, s->lag, sizeof(r->lag));
	r->calls = s->calls;
	note_clock(c, r);
}

static void sent(struct request *r)
{
	if (!ended(r) || !OWN_SOURCE(r))
		return;
	on_core(r, core_sent);
	say_clock(r);
	say(r, " %" PRIu64, r->calls);
	for (uint32_t i = 0; i < FRAME_PHASES; i++)
		say(r, " %" PRIu64 " %" PRIu64, r->sent[i], r->refused[i]);
}

static void lag(struct request *r)
{
	if (!ended(r) || !OWN_SOURCE(r))
		return;
	on_core(r, core_sent);
	for (uint32_t i = 0; i < FRAME_BUCKETS; i++)
		say(r, " %" PRIu64, r->lag[i]);
}

static void core_flights(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	memcpy(r->lag, r->port->sink.flights, sizeof(r->lag));
}

static void flights(struct request *r)
{
	if (!ended(r) || !OWN_SINK(r))
		return;
	on_core(r, core_flights);
	for (uint32_t i = 0; i < FRAME_BUCKETS; i++)
		say(r, " %" PRIu64, r->lag[i]);
}

static void core_spread(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->spread = frame_sink_spread(&r->port->sink);
}

static void spread(struct request *r)
{
	if (!ended(r) || !OWN_SINK(r))
		return;
	on_core(r, core_spread);
	say(r, " %" PRIu64 " %" PRIu64 " %" PRIu64, r->spread.came, r->spread.fewest,
	    r->spread.most);
}

static void core_halt(struct frame_core *c, void *about)
{
	struct request *r = about;

	(void)c;
	r->port->source.running = 0;
}

static void halt(struct request *r)
{
	if (ended(r) && OWN_SOURCE(r))
		on_core(r, core_halt);
}

static const struct {
	const char *word;
	void (*handle)(struct request *r);
} requests[] = {
    {"sink", sink},   {"tally", tally},	    {"source", source},	  {"turn", turn},
    {"rate", rate},   {"probe", probe},	    {"release", release}, {"phase", phase},
    {"sent", sent},   {"lag", lag},	    {"halt", halt},	  {"wear", wear},
    {"strip", strip}, {"flights", flights}, {"spread", spread},
};

static void find_port(struct request *r)
{
	const char *name = strtok_r(NULL, " ", &r->rest);

	r->bad = "there is no port of that name";
	for (uint32_t i = 0; name && i < r->core->count; i++)
		if (!strcmp(r->core->ports[i].name, name)) {
			r->slot = i;
			r->port = &r->core->ports[i];
			r->bad = NULL;
		}
}

int frame_request(struct frame_core *core, struct frame_owners *owners, uint32_t client, char *line,
		  char answer[FRAME_LINE])
{
	struct request r = {.core = core, .owners = owners, .client = client, .answer = answer};
	const char *word = strtok_r(line, " ", &r.rest);

	r.bad = "no such request";
	say(&r, "ok");
	for (size_t i = 0; word && i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(word, requests[i].word))
			continue;
		find_port(&r);
		if (!r.bad)
			requests[i].handle(&r);
		break;
	}
	if (r.bad) {
		r.length = 0;
		say(&r, "error %s", r.bad);
	}
	answer[r.length++] = '\n';
	return r.length;
}

static void core_end(struct frame_core *c, void *about)
{
	struct request *r = about;

	for (uint32_t i = 0; i < c->count; i++) {
		if (r->owners->source[i] == r->client) {
			frame_source_end(&c->ports[i].source);
			r->owners->source[i] = 0;
		}
		if (r->owners->sink[i] == r->client) {
			c->ports[i].sink.active = 0;
			r->owners->sink[i] = 0;
		}
	}
}

void frame_request_end(struct frame_core *core, struct frame_owners *owners, uint32_t client)
{
	struct request r = {.core = core, .owners = owners, .client = client};

	on_core(&r, core_end);
}
