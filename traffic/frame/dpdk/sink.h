/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink of one session: counts its frames flow by flow, as frame_sink.bpf.c and sequence.go do.
 */
#ifndef FRAME_SINK_H
#define FRAME_SINK_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "wire.h"

#define FRAME_FLOWS 1000000		/* maxFlows in options.go */
#define FRAME_WORDS_TOGETHER (1u << 21) /* wordsTogether in sequence.go */
#define FRAME_WORDS_PER_FLOW 2048	/* wordsAtMost */
#define FRAME_PORTS_OF_UDP 65536

/* What became of the frames of one phase; totals in sequence.go. */
struct frame_totals {
	uint64_t packets;
	uint64_t bytes; /* of them, FCS counted */
	uint64_t skipped;
	uint64_t reordered;
	uint64_t duplicate;
	uint64_t late;
	uint64_t corrupt;
};

/* What a sink is told of the frames that it looks for. */
struct frame_expected {
	uint32_t session;
	uint32_t flows;
	uint32_t words;		       /* per flow, a power of two */
	uint32_t turns;		       /* sizes that frames have in turn */
	uint32_t lengths[FRAME_TURNS]; /* of them, without FCS */
	int ipv6;
};

struct frame_sink {
	int active;
	struct frame_expected expected;
	struct frame_outer outer;
	struct frame_totals totals[FRAME_PHASES];
	uint64_t foreign;			/* frames of nobody */
	uint64_t from[FRAME_PORTS_OF_UDP / 64]; /* the source ports of frames without numbers */
	/* The window's frames that tell when they left, by how long they were on their way. */
	uint64_t flights[FRAME_BUCKETS];
	uint64_t *memory; /* a flow: the number after the highest, the window's frames, its words */
};

/* Takes the memory that any session needs; -1 if there is none. */
int frame_sink_begin(struct frame_sink *s);

/* Begins a session; says what is wrong with what is expected, or returns NULL. */
const char *frame_sink_expect(struct frame_sink *s, const struct frame_expected *e);

/* Lets the session's frames be those that wear an outer header; says what is wrong with it, or
 * returns NULL. */
const char *frame_sink_strip(struct frame_sink *s, const struct frame_outer *outer);

/* How the window's frames are spread over the flows that have numbers. */
struct frame_spread {
	uint64_t came; /* flows */
	uint64_t fewest;
	uint64_t most; /* frames of one */
};

struct frame_spread frame_sink_spread(const struct frame_sink *s);

/* How many flows there were of frames without numbers: they differ in their source ports. */
uint32_t frame_sink_flows(const struct frame_sink *s);

void frame_sink_take(struct frame_sink *s, struct rte_mbuf **mbufs, uint16_t count);

#endif
