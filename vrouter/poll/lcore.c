//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "lcore.h"

#include <stdio.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "forward.h"
#include "hand.h"

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

static void wait_rounds(void)
{
	uint64_t begun[POLL_CORES];
	uint32_t cores = running ? running->image->cores : 0;

	for (uint32_t i = 0; i < cores; i++)
		begun[i] =
		    __atomic_load_n(&poll_account_of(running->image, i)->rounds, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < cores; i++)
		wait_core(&poll_account_of(running->image, i)->rounds, begun[i]);
}

/* What one core has handed to another is through after that one's next round. */
void poll_wait_round(void)
{
	wait_rounds();
	if (poll_hands())
		wait_rounds();
}

static void count_missed(const struct poll_core *c)
{
	const struct poll_sources *mine = &c->ports->sources[c->index];

	for (uint32_t i = 0; i < mine->count; i++)
		c->account->missed += poll_port_missed(mine->all[i].port, mine->all[i].queue);
}

/* What was read at the core's own queues, and what others have handed to it. */
struct found {
	uint32_t read;
	uint32_t taken;
};

static void read_source(struct poll_core *c, const struct poll_source *s, struct found *found)
{
	struct rte_mbuf *mbufs[POLL_BURST];
	uint16_t room = c->hands ? poll_hand_room(c, s->port) : POLL_BURST, count;

	count = room ? poll_port_receive(s->port, s->queue, mbufs, room) : 0;
	if (!count)
		return;
	poll_stage(c, POLL_RECEIVE);
	found->read += count;
	c->account->bursts++;
	if (c->hands)
		count = poll_hand_out(c, s->port, mbufs, count);
	if (count)
		poll_forward(c, s->port->vif, mbufs, count);
}

static struct found go_round(struct poll_core *c)
{
	const struct poll_ports *ports = poll_ports_now();
	const struct poll_sources *mine = &ports->sources[c->index];
	struct found found = {0};

	c->ports = ports;
	c->timed = c->full % TIMED_OF == 0;
	if (c->timed)
		c->then = rte_rdtsc();
	if (c->hands)
		found.taken = poll_hand_take(c);
	for (uint32_t i = 0; i < mine->count; i++)
		read_source(c, &mine->all[i], &found);
	poll_stage(c, POLL_RECEIVE);
	poll_flush_all(c);
	return found;
}

/* Of a timed round that found nothing, nothing is kept: it belongs to no packet. One that was
 * handed over counts where it was read, so that of all cores together each counts once. */
static void keep_stages(struct poll_core *c, const struct found *found)
{
	struct poll_account *a = c->account;

	a->timed += found->read;
	for (int i = 0; i < POLL_STAGES; i++) {
		if (found->read || found->taken)
			a->stages[i] += c->stages[i];
		c->stages[i] = 0;
	}
}

static void forward(struct poll_core *c)
{
	struct poll_account *account = c->account;
	uint64_t rounds = account->rounds, then = rte_rdtsc(), asked = then, had = then, now;
	const uint64_t patience = account->hertz / US_PER_S * running->patience;
	struct found found;
	uint32_t empty = 0;
	int some;

	while (!stopped()) {
		found = go_round(c);
		some = found.read || found.taken;
		now = rte_rdtsc();
		if (some)
			account->busy += now - then;
		else
			account->idle += now - then;
		then = now;
		account->found += found.read;
		c->full += some;
		if (now - asked > account->hertz / MISSED_OF) {
			count_missed(c);
			asked = now;
		}
		if (c->timed)
			keep_stages(c, &found);
		__atomic_store_n(&account->rounds, ++rounds, __ATOMIC_RELEASE);
		/* Nothing of the next round is read before others can see that this one is over. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		empty = some ? 0 : empty + 1;
		if (some)
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

	c.hands = (uint32_t)poll_hands();
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
	if (w->hands && poll_hand_begin(w->image->cores)) {
		fprintf(stderr,
			"vrouter-poll: no memory to hand packets over; EAL's -m is too small\n");
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
