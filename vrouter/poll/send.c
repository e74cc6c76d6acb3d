//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "forward.h"

#include "account.h"
#include "leave.h"

static void lose(struct poll_core *c, struct poll_lane *lane, uint16_t i)
{
	rte_pktmbuf_free(lane->mbufs[i]);
	poll_lost(c->account, &lane->fates[i], VR_DROP_tx_full);
}

/* Counts those that a device has taken, each run of one way at once. */
static void count_sent(struct poll_core *c, const struct poll_fate *fates, int sent)
{
	struct poll_fate all;

	if (!sent)
		return;
	all = fates[0];
	for (int i = 1; i < sent; i++) {
		if (likely(poll_same_way(&all, &fates[i]))) {
			poll_add_fate(&all, &fates[i]);
			continue;
		}
		poll_sent(c->account, &all);
		all = fates[i];
	}
	poll_sent(c->account, &all);
}

/* What a device does not take at once is lost: to wait for it would let one slow VM stop all. What
 * it takes and loses later is its own loss, as behind the kernel mode. */
static void send_all(struct poll_core *c, struct poll_port *port, struct poll_lane *lane)
{
	uint16_t done = 0, count = lane->count;

	while (done < count) {
		int sent = poll_port_send(port, c->index, &lane->mbufs[done], count - done);

		if (!sent)
			break;
		if (sent < 0) {
			lose(c, lane, done++);
			continue;
		}
		count_sent(c, &lane->fates[done], sent);
		done += (uint16_t)sent;
	}
	while (done < count)
		lose(c, lane, done++);
}

static void end_joins(struct poll_lane *lane, struct poll_port *port)
{
	for (uint16_t i = 0; i < lane->count; i++) {
		if (!lane->joins[i].count)
			continue;
		poll_join_end(lane->mbufs[i], &lane->joins[i]);
		poll_hand_over(lane->mbufs[i], port, &lane->joins[i].layers, 0, NULL);
	}
	lane->looked = 0;
}

void poll_flush(struct poll_core *c, struct poll_port *port)
{
	struct poll_lane *lane = &port->lanes[c->index];

	if (!lane->count)
		return;
	if (lane->looked)
		end_joins(lane, port);
	poll_stage(c, POLL_MOVE);
	send_all(c, port, lane);
	lane->count = 0;
	poll_stage(c, POLL_SEND);
}

void poll_flush_all(struct poll_core *c)
{
	for (uint32_t i = 0; i < c->waits; i++) {
		struct poll_port *port = c->waiting[i];

		port->lanes[c->index].waits = 0;
		poll_flush(c, port);
	}
	c->waits = 0;
}

static void no_join(struct poll_lane *lane, uint16_t i)
{
	lane->joins[i].flow = 0;
	lane->joins[i].count = 0;
}

/* What waits for a port, with room for one packet more that nothing has been joined to. */
static struct poll_lane *lane_to(struct poll_core *c, uint32_t vif)
{
	struct poll_port *port = vif < POLL_PORTS ? c->ports->of[vif] : NULL;
	struct poll_lane *lane = port ? &port->lanes[c->index] : NULL;

	if (lane && !lane->waits) {
		lane->waits = 1;
		c->waiting[c->waits++] = port;
	}
	if (lane && lane->looked)
		no_join(lane, lane->count);
	return lane;
}

static void enqueue(struct poll_core *c, struct poll_lane *lane, uint32_t vif, struct rte_mbuf *m,
		    const struct poll_fate *fate)
{
	if (!lane) {
		rte_pktmbuf_free(m);
		poll_lost(c->account, fate, VR_DROP_tx_full);
		return;
	}
	lane->mbufs[lane->count] = m;
	lane->fates[lane->count] = *fate;
	if (++lane->count == POLL_BURST)
		poll_flush(c, c->ports->of[vif]);
}

/* Joins a packet to one of those that wait: its number, or -1. What is known of them is kept from
 * the first one on that may be joined, since most queues never see one. */
static int join(struct poll_core *c, struct poll_lane *lane, struct rte_mbuf *m, uint32_t vif,
		const struct poll_layers *l)
{
	const struct poll_port *port = c->ports->of[vif];
	struct poll_join *j = &lane->joins[lane->count];

	if (!lane->looked)
		for (uint16_t i = 0; i < lane->count; i++)
			no_join(lane, i);
	lane->looked = 1;
	poll_join_look(m, l, j);
	if (!j->flow || !poll_joins_at(port, j->layers.version))
		return -1;
	return poll_join_to(lane->mbufs, lane->joins, lane->count, m, j);
}

/* Whether packets by this way may be joined at all. */
static int may_join(const struct poll_core *c, const struct poll_fate *fate)
{
	const struct poll_port *port = c->ports->of[fate->to];

	return fate->from == POLL_FABRIC && fate->to != POLL_FABRIC &&
	       (poll_joins_at(port, 4) || poll_joins_at(port, 6));
}

void poll_enqueue(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *fate,
		  const struct poll_layers *l)
{
	struct poll_lane *lane = lane_to(c, fate->to);
	int to = -1;

	if (lane && l && may_join(c, fate))
		to = join(c, lane, m, fate->to, l);
	if (to < 0)
		enqueue(c, lane, fate->to, m, fate);
	else
		poll_add_fate(&lane->fates[to], fate); /* as all that it is made of */
}

void poll_answer(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *fate)
{
	struct poll_lane *lane = lane_to(c, fate->from);

	m->ol_flags = 0; /* all of it is finished */
	enqueue(c, lane, fate->from, m, fate);
}

int poll_send_now(struct poll_core *c, struct rte_mbuf *m, uint32_t vif)
{
	struct poll_port *port = vif < VR_MAX_VIFS ? c->ports->of[vif] : NULL;

	if (!port) {
		rte_pktmbuf_free(m);
		return -1;
	}
	poll_flush(c, port);
	if (poll_port_send(port, c->index, &m, 1) == 1)
		return 0;
	rte_pktmbuf_free(m);
	return -1;
}
