//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "lcore.h"

#include <stdio.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "forward.h"

/* Rounds without a packet before the core takes a pause, if it may, and its patience is over. */
#define EMPTY_ROUNDS 1000

/* Of so many rounds that find packets, the stages of one are timed: to read the clock several times
 * a packet takes about as long as a stage does. A power of two. */
#define TIMED_OF 64

/* Of a second, how often it is asked what was missed, each time by a system call for each socket. A
 * round takes milliseconds where aggregates are cut, so rounds are no measure of it. */
#define MISSED_OF 64

static const struct poll_work *running;
static int stop;

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

/* Every packet of a round is through at its end, so after one that began later nothing follows what
 * was there before. Two, because the first may have begun already. */
static void wait_core(const uint64_t *rounds, uint64_t begun)
{
	while (__atomic_load_n(rounds, __ATOMIC_ACQUIRE) - begun < 2 && !stopped())
		usleep(10);
}

void poll_wait_round(void)
{
	uint64_t begun[POLL_CORES];
	uint32_t cores = running ? running->image->cores : 0;

	for (uint32_t i = 0; i < cores; i++)
		begun[i] =
		    __atomic_load_n(&poll_account_of(running->image, i)->rounds, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < cores; i++)
		wait_core(&poll_account_of(running->image, i)->rounds, begun[i]);
}

static void count_missed(const struct poll_core *c)
{
	const struct poll_sources *mine = &c->ports->sources[c->index];

	for (uint32_t i = 0; i < mine->count; i++)
		c->account->missed += poll_port_missed(mine->all[i].port, mine->all[i].queue);
}

static uint32_t go_round(struct poll_core *c)
{
	const struct poll_ports *ports = poll_ports_now();
	const struct poll_sources *mine = &ports->sources[c->index];
	struct rte_mbuf *mbufs[POLL_BURST];
	uint32_t found = 0;

	c->ports = ports;
	c->timed = c->full % TIMED_OF == 0;
	if (c->timed)
		c->then = rte_rdtsc();
	for (uint32_t i = 0; i < mine->count; i++) {
		const struct poll_source *s = &mine->all[i];
		uint16_t count = poll_port_receive(s->port, s->queue, mbufs, POLL_BURST);

		if (!count)
			continue;
		poll_stage(c, POLL_RECEIVE);
		found += count;
		c->account->bursts++;
		poll_forward(c, s->port, mbufs, count);
	}
	poll_stage(c, POLL_RECEIVE);
	poll_flush_all(c);
	return found;
}

/* Of a timed round that found nothing, nothing is kept: it belongs to no packet. */
static void keep_stages(struct poll_core *c, uint32_t found)
{
	struct poll_account *a = c->account;

	a->timed += found;
	for (int i = 0; i < POLL_STAGES; i++) {
		if (found)
			a->stages[i] += c->stages[i];
		c->stages[i] = 0;
	}
}

static void forward(struct poll_core *c)
{
	struct poll_account *account = c->account;
	uint64_t rounds = account->rounds, then = rte_rdtsc(), asked = then, had = then, now;
	const uint64_t patience = account->hertz / US_PER_S * running->patience;
	uint32_t empty = 0, found;

	while (!stopped()) {
		found = go_round(c);
		now = rte_rdtsc();
		if (found)
			account->busy += now - then;
		else
			account->idle += now - then;
		then = now;
		account->found += found;
		c->full += found > 0;
		if (now - asked > account->hertz / MISSED_OF) {
			count_missed(c);
			asked = now;
		}
		if (c->timed)
			keep_stages(c, found);
		__atomic_store_n(&account->rounds, ++rounds, __ATOMIC_RELEASE);
		/* Nothing of the next round is read before others can see that this one is over. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		empty = found ? 0 : empty + 1;
		if (found)
			had = now;
		if (running->pause && empty > EMPTY_ROUNDS && now - had >= patience)
			usleep(running->pause);
	}
}

/* The least of many, so that no interrupt is in it. */
static uint64_t clock_takes(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t begin = rte_rdtsc();

		least = RTE_MIN(least, rte_rdtsc() - begin);
	}
	return least;
}

/* What a core works with is in its own memory, its stack. */
static int work(void *index)
{
	struct poll_core c = {.tables = &running->image->tables,
			      .index = (uint32_t)(uintptr_t)index};

	c.account = poll_account_of(running->image, c.index);
	c.account->hertz = rte_get_tsc_hz();
	c.clock = clock_takes();
	forward(&c);
	return 0;
}

int poll_lcores_begin(const struct poll_work *w)
{
	unsigned int lcore;
	uintptr_t index = 0;

	if (rte_lcore_count() - 1 != w->image->cores) {
		fprintf(stderr,
			"vrouter-poll: EAL's --lcores has %u cores to forward on, and the tables "
			"%u accounts\n",
			rte_lcore_count() - 1, w->image->cores);
		return -1;
	}
	running = w;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (rte_eal_remote_launch(work, (void *)index++, lcore)) {
			fprintf(stderr, "vrouter-poll: the core %u cannot be used\n", lcore);
			poll_lcores_end();
			return -1;
		}
	}
	return 0;
}

void poll_lcores_end(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	rte_eal_mp_wait_lcore();
}
