//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#define VR_TRACING
#define VR_LIVE 0
#include "trace.h"

#include <string.h>
#include <time.h>

#include <rte_spinlock.h>

#include "flow_table.h"
#include "layers.h"
#include "move.h"

struct poll_tracing *poll_tracing;

/* Of the packet that this thread is at. */
static _Thread_local struct vr_trace_log noted;

static void vr_step(enum vr_step step, uint64_t a, uint64_t b)
{
	if (noted.count < VR_TRACE_STEPS)
		noted.steps[noted.count++] = (struct vr_trace_step){step, a, b};
}

static void begin(const struct vr_frame *f, const struct vr_vif *vif)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	noted.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	noted.fabric = !vif;
	noted.ifindex = vif ? vif->ifindex : poll_flows.tables->node->ifindex;
	noted.length = f->length;
	noted.gso_size = f->gso_size;
	noted.count = 0;
	noted.head_length = RTE_MIN((uint32_t)(f->end - f->data), (uint32_t)VR_TRACE_HEAD);
	memcpy(noted.head, f->data, noted.head_length);
}

static void frame_of(const struct rte_mbuf *m, struct vr_frame *f)
{
	*f = (struct vr_frame){.data = rte_pktmbuf_mtod(m, const uint8_t *),
			       .length = rte_pktmbuf_pkt_len(m),
			       .gso_size = poll_gso_size(m)};
	f->end = f->data + rte_pktmbuf_data_len(m);
}

static uint32_t flow_enter(const struct vr_frame *f, uint32_t pop, const struct vr_nh *nh,
			   uint32_t asked)
{
	return nh->flags & VR_NH_FLOW ? poll_flow_check(f, pop, nh->vif, VR_FLOW_IN, asked)
				      : VR_DROP_NONE;
}

/* As poll_flow_leave. */
static uint32_t flow_leave(const struct vr_frame *f, const struct vr_vif *vif, uint32_t slot,
			   const struct vr_verdict *v)
{
	uint32_t lost = VR_DROP_NONE;

	if (v->op != VR_OP_FLOOD && !vr_is_forwarded(v->op))
		return VR_DROP_NONE;
	if (VR_READ_ONCE(vif->policy))
		lost = poll_flow_check(f, 0, slot, VR_FLOW_OUT, v->asked);
	return lost || v->op == VR_OP_FLOOD ? lost : flow_enter(f, 0, v->nh, v->asked);
}

/* The decision about a frame from a vif, or from the fabric (none), flow mode's included. */
static void decide(const struct vr_frame *f, const struct vr_vif *vif, uint32_t slot,
		   struct vr_verdict *v)
{
	const struct vr_tables *t = poll_flows.tables;
	uint32_t lost = VR_DROP_NONE;

	begin(f, vif);
	if (vif) {
		VR_STEP(vif, slot, vif->ifindex);
		vr_decide_vif(t, f, vif, v);
		lost = flow_leave(f, vif, slot, v);
	} else {
		vr_decide_fabric(t, t->node, f, v);
		if (vr_is_delivered(v->op))
			lost = flow_enter(f, v->pop, v->nh, v->asked);
	}
	if (lost)
		vr_drop_it(v, (enum vr_drop)lost);
	VR_STEP(verdict, v->op, v->drop);
}

/* Whether the IP header so far into the frame is the host's that is asked for. */
static int host_at(const struct vr_frame *f, uint32_t at, const struct vr_trace_filter *filter)
{
	const uint8_t *ip = f->data + at;

	if (at + VR_IP6_LEN > (size_t)(f->end - f->data) &&
	    (filter->family == 6 || at + VR_IP4_LEN > (size_t)(f->end - f->data)))
		return 0;
	if (ip[0] >> 4 != filter->family)
		return 0;
	if (filter->family == 4)
		return vr_same_addr(vr_addr_of(vr_get32(ip + 12)), filter->host) ||
		       vr_same_addr(vr_addr_of(vr_get32(ip + 16)), filter->host);
	return vr_same_addr(vr_get_addr(ip + 8), filter->host) ||
	       vr_same_addr(vr_get_addr(ip + 24), filter->host);
}

/* Whether somebody wants to see it. What the fabric brought is a port's if it goes there; what was
 * not ours is nobody's. */
static int wanted(const struct vr_frame *f, uint32_t vif, const struct vr_verdict *v)
{
	const struct vr_trace_filter filter = poll_tracing->filter;

	if (v->op == VR_OP_PASS)
		return 0;
	if (filter.vif && filter.vif != (vif == POLL_FABRIC && v->nh ? v->nh->vif : vif))
		return 0;
	return !filter.family || host_at(f, VR_ETH_LEN, &filter) ||
	       (v->pop && host_at(f, VR_ETH_LEN + v->pop, &filter));
}

/* A place for each core's packet in turn; if there is none, the packet is not shown. */
static void show(void)
{
	static rte_spinlock_t turn = RTE_SPINLOCK_INITIALIZER;
	uint64_t written;

	rte_spinlock_lock(&turn);
	written = poll_tracing->written;
	if (written - __atomic_load_n(&poll_tracing->read, __ATOMIC_ACQUIRE) < POLL_WATCHED) {
		poll_tracing->watched[written % POLL_WATCHED] = noted;
		__atomic_store_n(&poll_tracing->written, written + 1, __ATOMIC_RELEASE);
	}
	rte_spinlock_unlock(&turn);
}

void poll_watch(const struct rte_mbuf *m, uint32_t vif)
{
	const struct vr_vif *from = vif == POLL_FABRIC ? NULL : vr_vif_at(poll_flows.tables, vif);
	struct vr_verdict v = {0};
	struct vr_frame f;

	frame_of(m, &f);
	decide(&f, from, vif, &v);
	if (wanted(&f, vif, &v))
		show();
}

static void lose(uint32_t reason)
{
	VR_STEP(loss, reason, 0);
}

/* As poll_flood: a step for each copy, and the frame becomes the last one. */
static int try_flood(struct rte_mbuf *m, uint32_t vif, struct vr_verdict *v)
{
	const struct vr_tables *t = poll_flows.tables;
	const struct vr_flood *list = v->vrf ? vr_flood_at(t, VR_READ_ONCE(v->vrf->flood)) : NULL;
	uint32_t last = VR_DROP_flood_nobody;
	const struct vr_nh *goes = NULL;
	struct vr_frame f;

	if (poll_pop_frame(m, v))
		return VR_DROP_rewrite_failed;
	frame_of(m, &f);
	for (uint32_t i = 0; list && i < list->count && i < VR_FLOOD_TARGETS; i++) {
		const struct vr_nh *nh = vr_nh_at(t, VR_ROUTE_REF(list->targets[i]));
		uint32_t bad;

		if (!nh || !vr_copy_goes(nh, vif, vif == POLL_FABRIC))
			continue;
		bad = vr_copy_fails(nh, v->longest);
		if (!bad)
			bad = flow_enter(&f, 0, nh, v->asked);
		VR_STEP(copy, list->targets[i], bad);
		if (bad) {
			last = bad;
			continue;
		}
		goes = nh;
		v->push.label = VR_ROUTE_LABEL(list->targets[i]);
	}
	v->nh = goes;
	if (!goes)
		return (int)last;
	return poll_move_copy(m, goes, &v->push) ? VR_DROP_rewrite_failed : VR_DROP_NONE;
}

/* Makes the frame what would leave: VR_DROP_NONE, or why nothing would. */
static int try_move(struct rte_mbuf *m, const struct vr_vif *from, uint32_t vif,
		    struct vr_verdict *v)
{
	if (v->op == VR_OP_DROP)
		return v->drop;
	if (v->op == VR_OP_FLOOD)
		return try_flood(m, vif, v);
	if (!from && !vr_is_delivered(v->op))
		return VR_DROP_bad_nexthop;
	return poll_move(m, from, v) ? VR_DROP_rewrite_failed : VR_DROP_NONE;
}

static void try_frame(struct rte_mbuf *m, const struct vr_vif *from, uint32_t vif)
{
	struct vr_verdict v = {0};
	struct vr_frame f;
	int answers, lost;

	frame_of(m, &f);
	decide(&f, from, vif, &v);
	if (v.op == VR_OP_PASS) {
		VR_STEP(pass, 0, 0);
		return;
	}
	answers = from && v.op != VR_OP_FLOOD && !vr_is_forwarded(v.op);
	lost = try_move(m, from, vif, &v);
	if (lost) {
		lose((uint32_t)lost);
		return;
	}
	if (v.nh && v.nh->type == VR_NH_TUNNEL && v.nh->flags & VR_NH_SUM)
		poll_sum_tunnel(m, v.nh);
	VR_STEP(leave, answers ? from->ifindex : v.nh->ifindex, 0);
	poll_tracing->left = rte_pktmbuf_data_len(m);
	memcpy(poll_tracing->frame, rte_pktmbuf_mtod(m, void *), poll_tracing->left);
}

/* A buffer of its own, so that no core has one less. */
static struct rte_mbuf *buffer(void)
{
	static struct rte_mempool *pool;

	if (!pool)
		pool = rte_pktmbuf_pool_create("trials", 1, 0, 0, RTE_PKTMBUF_HEADROOM + POLL_FRAME,
					       SOCKET_ID_ANY);
	return pool ? rte_pktmbuf_alloc(pool) : NULL;
}

const char *poll_try(uint32_t vif)
{
	const struct vr_vif *from = vif == POLL_FABRIC ? NULL : vr_vif_at(poll_flows.tables, vif);
	uint32_t length = poll_tracing->length;
	struct rte_mbuf *m;
	char *data;

	poll_tracing->left = 0;
	if (length < VR_ETH_LEN || length > POLL_FRAME)
		return "a frame that is too short or too long";
	m = buffer();
	data = m ? rte_pktmbuf_append(m, (uint16_t)length) : NULL;
	if (!data) {
		rte_pktmbuf_free(m);
		return "no buffer";
	}
	memcpy(data, poll_tracing->frame, length);
	try_frame(m, from, vif);
	rte_pktmbuf_free(m);
	poll_tracing->trial = noted;
	return NULL;
}
