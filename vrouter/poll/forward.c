//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "forward.h"

#include <rte_prefetch.h>

#include "account.h"
#include "flows.h"
#include "layers.h"
#include "leave.h"
#include "move.h"
#include "trace.h"

#define AHEAD 4 /* packets whose first bytes are loaded before their turn */

/* So large a table of hosts is in the second cache: 512 KiB. */
#define CACHED_BUCKETS 8192

static void lose(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *f, uint32_t why)
{
	rte_pktmbuf_free(m);
	poll_lost(c->account, f, why);
}

/* The frame, and whether it is whole: a socket's may be cut to what there was room for. All headers
 * are in the first buffer, which is full before there is a second one. */
static int frame_of(const struct rte_mbuf *m, struct vr_frame *f)
{
	f->data = rte_pktmbuf_mtod(m, const uint8_t *);
	f->end = f->data + rte_pktmbuf_data_len(m);
	f->length = rte_pktmbuf_pkt_len(m);
	f->gso_size = poll_gso_size(m);
	return m->nb_segs > 1 || rte_pktmbuf_data_len(m) == f->length;
}

/* As vr_see: until the headers are read, segments are counted by all bytes. */
static struct poll_fate fate_of(const struct vr_frame *f, uint32_t from)
{
	struct poll_fate fate = {.packets = 1, .segments = 1, .bytes = f->length, .from = from};

	if (f->gso_size)
		fate.segments = (f->length + f->gso_size - 1) / f->gso_size;
	return fate;
}

static uint32_t look(struct rte_mbuf *m, uint32_t ip, struct poll_layers *l, struct poll_fate *fate)
{
	uint32_t bad = poll_layers_of(m, ip, l);

	if (!bad)
		fate->segments = poll_segments(l);
	return bad;
}

/* Nothing about most packets is left to anybody, and their way is one of the two that are simple.
 */
static void from_vif_finished(struct poll_core *c, uint32_t from, struct rte_mbuf *m,
			      const struct vr_frame *f, const struct vr_verdict *v,
			      struct poll_fate *fate)
{
	const struct vr_vif *vif = vr_vif_at(c->tables, from);
	uint32_t bad = poll_flow_leave(f, vif, from, v);

	poll_stage(c, POLL_DECIDE);
	if (bad)
		return lose(c, m, fate, bad);
	poll_leave_finished(c, m, fate, vif, v);
}

static void from_vif(struct poll_core *c, uint32_t from, struct rte_mbuf *m)
{
	const struct vr_vif *vif = vr_vif_at(c->tables, from);
	struct vr_verdict v = {0};
	struct vr_frame f = {0};
	int whole = frame_of(m, &f);
	struct poll_fate fate = fate_of(&f, from);
	struct poll_layers l;
	uint32_t bad;

	if (!whole)
		return lose(c, m, &fate, VR_DROP_oversized);
	vr_decide_vif(c->tables, &f, vif, &v);
	if (likely(v.plain && vr_is_forwarded(v.op) && poll_is_finished(m)))
		return from_vif_finished(c, from, m, &f, &v, &fate);
	bad = v.op == VR_OP_DROP ? v.drop : look(m, VR_ETH_LEN, &l, &fate);
	if (!bad)
		bad = poll_flow_leave(&f, vif, from, &v);
	poll_stage(c, POLL_DECIDE);
	if (bad)
		return lose(c, m, &fate, bad);
	if (v.op == VR_OP_FLOOD)
		return poll_flood(c, m, &fate, &v, &l);
	if (l.unfinished && !l.segment && v.mss) { /* it is about the whole header */
		poll_finish(m, &l);
		l.unfinished = 0;
	}
	if (vr_is_forwarded(v.op))
		return poll_leave(c, m, &fate, vif, &v, &l);
	if (poll_move(m, vif, &v))
		return lose(c, m, &fate, VR_DROP_rewrite_failed);
	fate.answered = 1;
	poll_answer(c, m, &fate);
}

/* A tap takes what is in one buffer, and finished. */
static void to_host(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate)
{
	struct poll_layers l;

	if (rte_pktmbuf_data_len(m) != fate->bytes || poll_layers_of(m, VR_ETH_LEN, &l))
		return lose(c, m, fate, VR_DROP_oversized);
	if (l.unfinished)
		poll_finish(m, &l);
	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	fate->to = POLL_HOST;
	poll_enqueue(c, m, fate, NULL);
}

/* What is not ours is the host's: where the fabric is a network interface, its stack has had the
 * packet already. */
static void pass(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate)
{
	if (c->ports->of[POLL_HOST])
		return to_host(c, m, fate);
	rte_pktmbuf_free(m);
	poll_passed(c->account, fate);
}

/* Why what the fabric brought is lost, or VR_DROP_NONE. */
static uint32_t admit(struct rte_mbuf *m, const struct vr_frame *f, const struct vr_verdict *v,
		      int whole, struct poll_layers *l, struct poll_fate *fate)
{
	uint32_t bad = v->drop;

	if (v->op == VR_OP_DROP)
		return bad;
	if (!whole)
		return VR_DROP_oversized;
	if (v->op != VR_OP_FLOOD && !vr_is_delivered(v->op))
		return VR_DROP_bad_nexthop;
	bad = look(m, VR_ETH_LEN + v->pop, l, fate);
	if (bad || v->op == VR_OP_FLOOD)
		return bad;
	return poll_flow_enter(f, v->pop, v->nh, v->asked);
}

static void from_fabric(struct poll_core *c, struct rte_mbuf *m)
{
	struct vr_verdict v = {0};
	struct vr_frame f = {0};
	int whole = frame_of(m, &f);
	struct poll_fate fate = fate_of(&f, POLL_FABRIC);
	struct poll_layers l;
	uint32_t bad = VR_DROP_NONE;

	vr_decide_fabric(c->tables, c->tables->node, &f, &v);
	if (v.op != VR_OP_PASS) /* that may have any length: it is the host's */
		bad = admit(m, &f, &v, whole, &l, &fate);
	poll_stage(c, POLL_DECIDE);
	if (v.op == VR_OP_PASS)
		return pass(c, m, &fate);
	if (v.nh && v.nh->type == VR_NH_ENCAP && !(v.nh->flags & VR_NH_FABRIC))
		fate.to = v.nh->vif;
	if (bad)
		return lose(c, m, &fate, bad);
	if (v.op == VR_OP_FLOOD)
		return poll_flood(c, m, &fate, &v, &l);
	poll_leave(c, m, &fate, NULL, &v, &l);
}

/* The host's own packets, where the fabric is not its own. */
static void from_host(struct poll_core *c, struct rte_mbuf *m)
{
	struct poll_fate fate = {
	    .packets = 1, .segments = 1, .bytes = rte_pktmbuf_pkt_len(m), .from = POLL_HOST};

	fate.to = POLL_FABRIC;
	if (rte_pktmbuf_data_len(m) != fate.bytes)
		return lose(c, m, &fate, VR_DROP_oversized);
	poll_enqueue(c, m, &fate, NULL);
}

/* A table that no cache holds costs a wait for each packet, unless what the packets of a burst need
 * of it is asked for before any of them waits: of routes the hosts', of flows the entries. What is
 * asked for a packet that is no IPv4 is of no use, and does no harm. */
static void ask_hosts(const struct poll_core *c, const struct vr_vrf *vrf,
		      struct rte_mbuf *const *mbufs, uint16_t count)
{
	const uint32_t buckets = VR_READ_ONCE(c->tables->node->hosts);

	if (buckets <= CACHED_BUCKETS || !(VR_READ_ONCE(vrf->flags) & VR_VRF_HOSTS))
		return;
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		uint64_t key;

		if (rte_pktmbuf_data_len(mbufs[i]) < VR_ETH_LEN + VR_IP4_LEN)
			continue;
		key = VR_HOST_KEY(vrf->slot, vr_get32(data + VR_ETH_LEN + 16));
		rte_prefetch0(vr_hosts_at(c->tables, VR_HOST_BUCKET(key, buckets)));
	}
}

static void ask_flows(uint32_t slot, struct rte_mbuf *const *mbufs, uint16_t count)
{
	struct vr_frame f = {0};

	for (uint16_t i = 0; i < count; i++)
		if (frame_of(mbufs[i], &f) && f.data + VR_ETH_LEN + VR_IP4_LEN <= f.end)
			poll_flow_ahead(&f, slot);
}

static void look_ahead(const struct poll_core *c, uint32_t from, struct rte_mbuf *const *mbufs,
		       uint16_t count)
{
	const struct vr_vif *vif = vr_vif_at(c->tables, from);
	const struct vr_vrf *vrf = vif ? vr_vrf_at(c->tables, vif->vrf) : NULL;

	if (!vrf)
		return;
	ask_hosts(c, vrf, mbufs, count);
	if (VR_READ_ONCE(vif->policy))
		ask_flows(from, mbufs, count);
}

void poll_forward(struct poll_core *c, uint32_t vif, struct rte_mbuf **mbufs, uint16_t count)
{
	const int watched = poll_is_watched();

	poll_flow_time = 0;
	for (uint16_t i = 0; i < AHEAD && i < count; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
	if (vif != POLL_FABRIC && vif != POLL_HOST)
		look_ahead(c, vif, mbufs, count);
	for (uint16_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + AHEAD], void *));
		if (unlikely(watched) && vif != POLL_HOST)
			poll_watch(mbufs[i], vif);
		if (vif == POLL_FABRIC)
			from_fabric(c, mbufs[i]);
		else if (vif == POLL_HOST)
			from_host(c, mbufs[i]);
		else
			from_vif(c, vif, mbufs[i]);
		poll_stage(c, POLL_MOVE);
	}
}
