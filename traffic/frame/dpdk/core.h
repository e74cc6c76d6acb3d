/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core that sends and receives at all ports. Nobody else touches them: the other thread hands
 * it calls, which it makes between two rounds.
 */
#ifndef FRAME_CORE_H
#define FRAME_CORE_H

#include <stdint.h>

#include "port.h"

/* What the core did with its cycles. */
struct frame_cycles {
	uint64_t sending;   /* rounds' parts in which a port took frames */
	uint64_t receiving; /* those in which a port had frames */
	uint64_t idle;	    /* the rest, while there was something to do */
};

struct frame_core {
	struct frame_port ports[FRAME_PORTS];
	uint32_t count;
	int shares; /* another process that polls has the same CPU */
	int sleeps; /* a process that polls has it, whenever this one lets go of it */
	int stop;
	struct frame_cycles cycles;
	/* A call that is asked for. */
	void (*call)(struct frame_core *core, void *about);
	void *about;
};

/* The core's loop, until stop is set. */
int frame_core_run(void *core);

/* Lets the core make a call, and waits for its end. */
void frame_core_call(struct frame_core *core, void (*call)(struct frame_core *, void *),
		     void *about);

#endif
