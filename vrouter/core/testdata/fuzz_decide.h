/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A decision for the fuzzer, compiled twice: as forwarding programs have it, and with its steps
 * recorded. host.c comes along for the movers, without its main.
 */
#ifndef FUZZ_DECIDE_H
#define FUZZ_DECIDE_H

#define main FUZZ_HOST_MAIN
#include "host.c"
#undef main

/* A frame that a hook sees the beginning of. */
struct shown {
	const uint8_t *data;
	size_t bytes;
	uint32_t length; /* of it all: no less */
	uint32_t gso;
};

/* What can be read lies in a block of exactly its size. */
static struct vr_verdict decide_shown(const struct vr_tables *t, const struct vr_vif *vif,
				      const struct shown *s)
{
	uint8_t *exact = malloc(s->bytes ? s->bytes : 1);
	struct vr_frame f = {
	    .data = exact, .end = exact + s->bytes, .length = s->length, .gso_size = s->gso};
	struct vr_verdict v = {0};

	memcpy(exact, s->data, s->bytes);
	if (vif)
		vr_decide_vif(t, &f, vif, &v);
	else
		vr_decide_fabric(t, t->node, &f, &v);
	free(exact);
	return v;
}

/* The same by the programs that trace; steps is how many they took. */
struct vr_verdict decide_traced(const struct vr_tables *t, const struct vr_vif *vif,
				const struct shown *s, unsigned int *steps);

#endif
