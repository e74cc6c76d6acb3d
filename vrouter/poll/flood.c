//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies of what is for all of a network. Each is sent by itself, at once, because what becomes of
 * the packet depends on them: it is forwarded if a copy left, else dropped as its last copy was.
 * What is flooded is rare, so that costs nobody anything.
 */
#include "forward.h"

#include "account.h"
#include "flows.h"
#include "gso.h"
#include "leave.h"
#include "move.h"

static void copy_left(struct poll_core *c, const struct poll_fate *f, uint32_t to)
{
	poll_add(&c->account->totals.copies, f);
	if (to != POLL_FABRIC)
		poll_add(&c->account->vifs[to].tx, f);
}

static void copy_lost(struct poll_core *c, const struct poll_fate *f, uint32_t to, uint32_t reason)
{
	poll_add(&c->account->totals.copy_drops[reason], f);
	if (to != POLL_FABRIC)
		poll_add(&c->account->losses[to].to[reason], f);
}

/* Where the copies of a packet go. */
struct target {
	const struct vr_nh *nh;
	struct vr_push push;
	uint32_t vif; /* or POLL_FABRIC */
};

/* Sends a copy, or a part of it: why it did not leave, or VR_DROP_NONE. */
static uint32_t send_copy(struct poll_core *c, struct rte_mbuf *copy, struct target *t,
			  const struct poll_layers *l)
{
	int at = copy->data_off;

	t->push.length = copy->pkt_len - VR_ETH_LEN;
	if (poll_move_copy(copy, t->nh, &t->push)) {
		rte_pktmbuf_free(copy);
		return VR_DROP_rewrite_failed;
	}
	poll_hand_over(copy, c->ports->of[t->vif], l, at - copy->data_off,
		       t->nh->type == VR_NH_TUNNEL ? t->nh : NULL);
	return poll_send_now(c, copy, t->vif) ? VR_DROP_tx_full : VR_DROP_NONE;
}

/* The packets of an aggregate, for a target that takes no such. If one does not leave, none behind
 * it has to. */
static uint32_t send_cut(struct poll_core *c, const struct rte_mbuf *m, struct target *t,
			 const struct poll_layers *l)
{
	uint32_t bad = VR_DROP_NONE;
	struct poll_cut cut;

	for (poll_cut_begin(&cut, m, l); cut.left && !bad;) {
		struct rte_mbuf *next = poll_cut_next(&cut);

		bad = next ? send_copy(c, next, t, &cut.layers) : VR_DROP_no_buffers;
	}
	return bad;
}

/* Why there is no copy for one target, if so. A port's policy has the last word. */
static uint32_t copy_denied(const struct rte_mbuf *m, const struct vr_nh *nh,
			    const struct vr_verdict *v, const struct poll_layers *l)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct vr_frame f = {.data = data,
				   .end = data + rte_pktmbuf_data_len(m),
				   .length = rte_pktmbuf_pkt_len(m),
				   .gso_size = l->segment};
	uint32_t bad = vr_copy_fails(nh, v->longest);

	return bad ? bad : poll_flow_enter(&f, 0, nh, v->asked);
}

/* A copy for one target: why it did not leave, or VR_DROP_NONE. */
static uint32_t copy_to(struct poll_core *c, const struct rte_mbuf *m, struct target *t,
			const struct vr_verdict *v, const struct poll_layers *l)
{
	uint32_t bad = copy_denied(m, t->nh, v, l);
	struct rte_mbuf *copy;

	if (bad)
		return bad;
	if (!poll_is_whole(c->ports->of[t->vif], l, t->nh->type == VR_NH_TUNNEL))
		return send_cut(c, m, t, l);
	copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
	return copy ? send_copy(c, copy, t, l) : VR_DROP_copy_failed;
}

void poll_flood(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
		const struct vr_verdict *v, const struct poll_layers *layers)
{
	const struct vr_flood *list =
	    v->vrf ? vr_flood_at(c->tables, VR_READ_ONCE(v->vrf->flood)) : NULL;
	uint32_t count = list ? list->count : 0, last = VR_DROP_flood_nobody, left = 0;
	struct poll_layers l = *layers;
	struct target t = {.push = v->push};

	poll_add(&c->account->totals.flooded, fate);
	if (poll_pop_frame(m, v)) {
		count = 0;
		last = VR_DROP_rewrite_failed;
	}
	poll_layers_shift(&l, -(int)v->pop);
	for (uint32_t i = 0; i < count && i < VR_FLOOD_TARGETS; i++) {
		uint32_t bad;

		t.nh = vr_nh_at(c->tables, VR_ROUTE_REF(list->targets[i]));
		if (!t.nh || !vr_copy_goes(t.nh, fate->from, fate->from == POLL_FABRIC))
			continue;
		t.vif = t.nh->type == VR_NH_TUNNEL ? POLL_FABRIC : t.nh->vif;
		t.push.label = VR_ROUTE_LABEL(list->targets[i]);
		bad = copy_to(c, m, &t, v, &l);
		if (bad) {
			last = bad;
			copy_lost(c, fate, t.vif, bad);
		} else {
			left++;
			copy_left(c, fate, t.vif);
		}
	}
	rte_pktmbuf_free(m);
	if (!left) {
		poll_lost(c->account, fate, last);
		return;
	}
	poll_received(c->account, fate);
	poll_add(&c->account->totals.forwarded, fate);
	if (fate->from != POLL_FABRIC)
		poll_add(&c->account->vifs[fate->from].forwarded, fate);
}
