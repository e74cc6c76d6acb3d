//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "leave.h"

#include "account.h"
#include "gso.h"
#include "move.h"

static struct poll_port *port_to(const struct poll_core *c, uint32_t vif)
{
	return vif < VR_MAX_VIFS ? c->ports->of[vif] : NULL;
}

static uint32_t takes_of(const struct poll_port *p)
{
	return p ? VR_READ_ONCE(p->takes) : 0;
}

int poll_joins_at(const struct poll_port *p, uint8_t version)
{
	uint32_t want = POLL_TAKES_CHECKSUM | (version == 6 ? POLL_TAKES_TCP6 : POLL_TAKES_TCP4);

	return (takes_of(p) & want) == want;
}

int poll_is_whole(const struct poll_port *p, const struct poll_layers *l, int tunnel)
{
	if (!l->segment || !p) /* one that is not there is sent nothing */
		return 1;
	if (tunnel || (l->reduced && !(takes_of(p) & POLL_TAKES_REDUCED)))
		return 0;
	return l->proto == VR_PROTO_TCP ? poll_joins_at(p, l->version)
					: (takes_of(p) & POLL_TAKES_UDP) != 0;
}

/* What rte_mbuf_core.h asks for of a packet whose checksum, or segmentation, is left to a device.
 */
static void tell(struct rte_mbuf *m, const struct poll_layers *l)
{
	m->l2_len = l->ip;
	m->l3_len = l->l4 - l->ip;
	m->l4_len = l->payload - l->l4;
	m->ol_flags |= l->version == 6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
	m->ol_flags |= l->proto == VR_PROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
	if (!l->segment)
		return;
	m->tso_segsz = l->segment;
	m->ol_flags |= l->proto == VR_PROTO_TCP ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG;
}

static void finish_or_tell(struct rte_mbuf *m, const struct poll_layers *l, int taken)
{
	if (!taken) {
		poll_finish(m, l);
		return;
	}
	poll_begin_sum(m, l);
	tell(m, l);
}

void poll_hand_over(struct rte_mbuf *m, const struct poll_port *p, const struct poll_layers *l,
		    int grown, const struct vr_nh *tunnel)
{
	uint32_t want = grown > 0 ? POLL_TAKES_INNER : POLL_TAKES_CHECKSUM;
	int summed = tunnel && tunnel->flags & VR_NH_SUM;
	struct poll_layers now = *l;

	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	poll_layers_shift(&now, grown);
	if (l->unfinished)
		finish_or_tell(m, &now, !summed && takes_of(p) & want);
	if (summed)
		poll_sum_tunnel(m, tunnel);
}

/* The way of a packet that leaves by a tunnel; else NULL. */
static const struct vr_nh *tunnel_of(const struct vr_verdict *v)
{
	return v->op == VR_OP_TUNNEL || v->op == VR_OP_BRIDGE_TUNNEL ? v->nh : NULL;
}

static void leave_one(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
		      const struct vr_vif *vif, const struct vr_verdict *v,
		      const struct poll_layers *l)
{
	int at = m->data_off;

	if (poll_move(m, vif, v)) {
		rte_pktmbuf_free(m);
		poll_lost(c->account, fate, VR_DROP_rewrite_failed);
		return;
	}
	poll_hand_over(m, port_to(c, fate->to), l, at - m->data_off, tunnel_of(v));
	poll_enqueue(c, m, fate, l);
}

/* All that is left of an aggregate without a buffer for its next packet. */
static void lose_rest(struct poll_core *c, struct poll_fate *part, const struct poll_fate *fate,
		      uint32_t counted, uint32_t done)
{
	part->segments = fate->segments - done;
	part->bytes = fate->bytes - counted;
	poll_lost(c->account, part, VR_DROP_no_buffers);
}

static void leave_cut(struct poll_core *c, struct rte_mbuf *m, const struct poll_fate *fate,
		      const struct vr_vif *vif, const struct vr_verdict *v,
		      const struct poll_layers *l)
{
	struct poll_fate part = *fate;
	struct vr_verdict one = *v;
	struct poll_cut cut;
	uint32_t counted = 0;

	for (poll_cut_begin(&cut, m, l); cut.left; counted += part.bytes) {
		struct rte_mbuf *next = poll_cut_next(&cut);

		part.packets = counted ? 0 : fate->packets;
		part.segments = 1;
		part.bytes = fate->bytes - counted - cut.left;
		if (!next) {
			lose_rest(c, &part, fate, counted, cut.done);
			break;
		}
		one.push.length = next->pkt_len - VR_ETH_LEN;
		leave_one(c, next, &part, vif, &one, &cut.layers);
	}
	rte_pktmbuf_free(m);
}

void poll_leave(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
		const struct vr_vif *vif, const struct vr_verdict *v, const struct poll_layers *l)
{
	fate->to = poll_way_out(v);
	if (l->segment && !poll_is_whole(port_to(c, fate->to), l, tunnel_of(v) != NULL))
		leave_cut(c, m, fate, vif, v, l);
	else
		leave_one(c, m, fate, vif, v, l);
}

void poll_leave_finished(struct poll_core *c, struct rte_mbuf *m, struct poll_fate *fate,
			 const struct vr_vif *vif, const struct vr_verdict *v)
{
	fate->to = poll_way_out(v);
	if (poll_move(m, vif, v)) {
		rte_pktmbuf_free(m);
		poll_lost(c->account, fate, VR_DROP_rewrite_failed);
		return;
	}
	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	if (tunnel_of(v) && unlikely(v->nh->flags & VR_NH_SUM))
		poll_sum_tunnel(m, v->nh);
	poll_enqueue(c, m, fate, NULL);
}
