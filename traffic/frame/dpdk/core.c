/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "core.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#define REST 200 /* us that the core sleeps at a time while nobody has a session */
/* us that it sleeps beside a process that polls and never lets go: a ring of 1024 is then not half
 * full of 10 million frames a second. */
#define NAP 20
#define PATIENCE 4 /* empty rounds after which it offers the CPU to another that polls there */

static uint32_t receive(struct frame_port *p)
{
	struct rte_mbuf *mbufs[FRAME_BURST];
	uint16_t count = rte_eth_rx_burst(p->device, 0, mbufs, FRAME_BURST);

	if (count) {
		frame_sink_take(&p->sink, mbufs, count);
		rte_pktmbuf_free_bulk(mbufs, count);
	}
	return count;
}

/* One look at each port, both ways; what was found there. */
static uint32_t go_round(struct frame_core *c, uint64_t *then)
{
	uint32_t all = 0, found;
	uint64_t now;

	for (uint32_t i = 0; i < c->count; i++) {
		found = receive(&c->ports[i]);
		now = rte_rdtsc();
		*(found ? &c->cycles.receiving : &c->cycles.idle) += now - *then;
		*then = now;
		all += found;
		if (!c->ports[i].source.active)
			continue;
		found = frame_source_send(&c->ports[i]);
		now = rte_rdtsc();
		*(found ? &c->cycles.sending : &c->cycles.idle) += now - *then;
		*then = now;
		all += found;
	}
	return all;
}

static int has_session(const struct frame_core *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->ports[i].source.active || c->ports[i].sink.active)
			return 1;
	return 0;
}

static void answer(struct frame_core *c)
{
	void (*call)(struct frame_core *, void *) = __atomic_load_n(&c->call, __ATOMIC_ACQUIRE);

	if (!call)
		return;
	call(c, c->about);
	__atomic_store_n(&c->call, NULL, __ATOMIC_RELEASE);
}

int frame_core_run(void *core)
{
	struct frame_core *c = core;
	uint64_t then = rte_rdtsc();
	uint32_t empty = 0;

	prctl(PR_SET_TIMERSLACK, 1); /* else 50 us, in which a nap would end */
	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		answer(c);
		if (!has_session(c)) {
			while (go_round(c, &then)) /* what comes is nobody's */
				;
			usleep(REST);
			then = rte_rdtsc();
			continue;
		}
		empty = go_round(c, &then) ? 0 : empty + 1;
		if (c->sleeps && empty > PATIENCE)
			usleep(NAP);
		else if (c->shares && empty > PATIENCE)
			sched_yield();
	}
	return 0;
}

void frame_core_call(struct frame_core *c, void (*call)(struct frame_core *, void *), void *about)
{
	c->about = about;
	__atomic_store_n(&c->call, call, __ATOMIC_RELEASE);
	while (__atomic_load_n(&c->call, __ATOMIC_ACQUIRE))
		usleep(10);
}
