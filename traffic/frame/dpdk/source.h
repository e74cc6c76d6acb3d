/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The source of one session: frames with a flow and a number each, as fast as the port takes them
 * or at a rate. frame_send.bpf.c and stamp.go write the same.
 */
#ifndef FRAME_SOURCE_H
#define FRAME_SOURCE_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "wire.h"

#define FRAME_HEAD_MOST 80 /* bytes, from the frame's begin to the number's end */

/* A size of frames. */
struct frame_shape {
	uint8_t head[FRAME_HEAD_MOST]; /* what changes is zero */
	uint32_t length;	       /* without FCS */
	uint32_t udp_sum;	       /* of what does not change: pseudo header, UDP, payload */
	uint32_t ip_sum; /* of the IPv4 header without the address; only if that changes */
};

/* What a source is told of its frames. */
struct frame_plan {
	struct frame_shape shapes[FRAME_TURNS];
	uint32_t turns; /* how many of them there are */
	int ipv6;
	int addresses;	/* the flow changes the source address, not ports */
	int tells;	/* where a rate is kept, frames tell when they left */
	uint32_t port;	/* of the destination: the session's first */
	uint32_t first; /* flow */
	uint32_t end;	/* the flow after the last */
	struct frame_outer outer;
};

struct frame_number {
	uint32_t phase;
	uint32_t flow;
	uint64_t sequence;
};

struct frame_source {
	int active;
	int running;
	uint32_t session; /* the how manieth of its port */
	struct frame_plan plan;
	struct frame_number next; /* its phase is the present one */
	uint64_t probes;	  /* frames of a probe that are yet to be sent */
	/* The token bucket, in cycles; interval 0: as fast as it goes. */
	double interval, depth, due;
	/* Frames that are written and were not taken yet. */
	struct rte_mbuf *waiting[64];
	uint32_t at, count, phase;
	int turned_away; /* some of them, at least once */
	uint64_t sent[FRAME_PHASES];
	uint64_t refused[FRAME_PHASES];
	uint64_t lag[FRAME_BUCKETS]; /* frames of the window by how late they were */
	uint64_t calls;
};

struct frame_port;

/* Begins a session, held back; says what is wrong with its plan, or
 * returns NULL. */
const char *frame_source_begin(struct frame_port *p, const struct frame_plan *plan);

/* Adds a size to those that frames have in turn, before the first is sent; says what is wrong with
 * it, or returns NULL. */
const char *frame_source_turn(struct frame_port *p, const struct frame_shape *shape);

/* Lets the session's frames wear an outer header; says what is wrong with it, or returns NULL. */
const char *frame_source_wear(struct frame_source *s, const struct frame_outer *outer);

/* Forgets a probe: the numbering begins anew. */
void frame_source_renumber(struct frame_source *s);

/* Lets go: from now on, frames are due. */
void frame_source_release(struct frame_source *s);

/* Sends what is due; how many frames the port took. */
uint32_t frame_source_send(struct frame_port *p);

void frame_source_end(struct frame_source *s);

#endif
