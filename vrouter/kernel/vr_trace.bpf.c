//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What would become of a packet, step by step. These are the programs of vr_tc.bpf.c, compiled to
 * record what they do instead of counting and sending. They use the live tables.
 *
 * vr_trace_* are for BPF_PROG_TEST_RUN. vr_watch_* stand before the forwarding programs at the same
 * hook while somebody watches, and only decide: so watching costs nothing when nobody does.
 */
#define VR_TRACING
#include "vr_tc.bpf.c"
#include "vr_fast.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_trace_log);
} vr_trace_logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} vr_traces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_trace_filter);
} vr_trace_filters SEC(".maps");

VR_INLINE struct vr_trace_log *vr_log(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_trace_logs, &zero);
}

/* A stage (vr_stages.h): there are many steps, and each in line would have room on the stack. */
__attribute__((noinline)) int vr_note(uint32_t step, uint64_t a, uint64_t b)
{
	struct vr_trace_log *log = vr_log();
	uint32_t i = log ? log->count : VR_TRACE_STEPS;

	if (!log || i >= VR_TRACE_STEPS)
		return -1;
	log->steps[i].step = step;
	log->steps[i].a = a;
	log->steps[i].b = b;
	log->count = i + 1;
	return 0;
}

VR_INLINE void vr_step(enum vr_step step, uint64_t a, uint64_t b)
{
	vr_note(step, a, b);
}

VR_INLINE int vr_begin(struct __sk_buff *skb, int fabric)
{
	struct vr_trace_log *log = vr_log();
	uint32_t length = skb->len;

	if (!log)
		return -1;
	log->time = bpf_ktime_get_ns();
	log->fabric = (uint32_t)fabric;
	log->ifindex = skb->ifindex;
	log->length = length;
	log->gso_size = skb->gso_size;
	log->count = 0;
	log->head_length = 0;
	if (length > VR_TRACE_HEAD)
		length = VR_TRACE_HEAD;
	/* From 1 to VR_TRACE_HEAD, in a way that the verifier of Linux 6.12 follows: it learns
	 * nothing of a number from a comparison of what clang subtracted from it. */
	length -= 1;
	VR_OPAQUE(length);
	length &= VR_TRACE_HEAD - 1;
	VR_OPAQUE(length);
	length += 1;
	if (!bpf_skb_load_bytes(skb, 0, log->head, length))
		log->head_length = length;
	return 0;
}

VR_INLINE int vr_submit(int action)
{
	struct vr_trace_log *log = vr_log();

	if (log)
		bpf_ringbuf_output(&vr_traces, log, sizeof(*log), 0);
	return action;
}

/* What XDP would do. What it leaves is tc's to tell. */
VR_INLINE int vr_begin_fast(struct xdp_md *ctx, int fabric)
{
	struct vr_trace_log *log = vr_log();

	if (!log)
		return -1;
	log->time = bpf_ktime_get_ns();
	log->fabric = (uint32_t)fabric;
	log->ifindex = ctx->ingress_ifindex;
	log->length = ctx->data_end - ctx->data;
	log->gso_size = 0;
	log->count = 0;
	log->head_length = 0;
	return 0;
}

SEC("xdp")
int vr_trace_fast_vif(struct xdp_md *ctx)
{
	return vr_begin_fast(ctx, 0) ? XDP_PASS : vr_submit(vr_fast_on_vif(ctx));
}

SEC("xdp")
int vr_trace_fast_fabric(struct xdp_md *ctx)
{
	return vr_begin_fast(ctx, 1) ? XDP_PASS : vr_submit(vr_fast_on_fabric(ctx));
}

SEC("tc")
int vr_trace_vif(struct __sk_buff *skb)
{
	return vr_begin(skb, 0) ? TC_ACT_UNSPEC : vr_submit(vr_on_vif(skb));
}

SEC("tc")
int vr_trace_fabric(struct __sk_buff *skb)
{
	return vr_begin(skb, 1) ? TC_ACT_UNSPEC : vr_submit(vr_on_fabric(skb));
}

/* Whether the IP header so far into the frame is the host's that is asked for, if one is. */
VR_INLINE int vr_host_at(const struct vr_frame *f, uint32_t at,
			 const struct vr_trace_filter *filter)
{
	const uint8_t *ip = f->data + at;

	if (!filter->family)
		return 1;
	VR_OPAQUE(ip);
	if (ip + VR_IP4_LEN > f->end || ip[0] >> 4 != filter->family)
		return 0;
	if (filter->family == 4)
		return vr_same_addr(vr_addr_of(vr_get32(ip + 12)), filter->host) ||
		       vr_same_addr(vr_addr_of(vr_get32(ip + 16)), filter->host);
	if (ip + VR_IP6_LEN > f->end)
		return 0;
	return vr_same_addr(vr_get_addr(ip + 8), filter->host) ||
	       vr_same_addr(vr_get_addr(ip + 24), filter->host);
}

/* A packet that flow mode loses. */
VR_INLINE void vr_watch_flow(struct vr_verdict *v, int lost)
{
	if (lost)
		vr_drop_it(v, (enum vr_drop)lost);
}

SEC("tc")
int vr_watch_vif(struct __sk_buff *skb)
{
	uint32_t zero = 0, ifindex = skb->ifindex;
	struct vr_trace_filter *filter = bpf_map_lookup_elem(&vr_trace_filters, &zero);
	uint32_t *index = bpf_map_lookup_elem(&vr_ports, &ifindex);
	const struct vr_vif *vif = index ? vr_vif_at(0, *index) : 0;
	struct vr_verdict v = {};
	struct vr_frame f;

	if (!filter || !vif || (filter->vif && filter->vif != *index))
		return TC_ACT_UNSPEC;
	vr_ip_frame(skb, VR_ETH_LEN, &f);
	if (!vr_host_at(&f, VR_ETH_LEN, filter))
		return TC_ACT_UNSPEC;
	if (vr_begin(skb, 0))
		return TC_ACT_UNSPEC;
	VR_STEP(vif, *index, ifindex);
	vr_decide_vif(0, &f, vif, &v);
	if (v.op == VR_OP_FLOOD)
		vr_watch_flow(&v, vr_flow_leave(skb, vif, *index, v.asked));
	else if (v.nh && vr_is_forwarded(v.op))
		vr_watch_flow(&v, vr_flow_forward(skb, vif, *index, &v));
	VR_STEP(verdict, v.op, v.drop);
	return vr_submit(TC_ACT_UNSPEC);
}

/* Of a packet whose tunnel's headers XDP took off, what is left to see is for whom. */
VR_INLINE int vr_watch_handed(struct __sk_buff *skb, const struct vr_trace_filter *filter,
			      const struct vr_handed *h)
{
	struct vr_verdict v = {.op = VR_OP_DECAP};
	struct vr_frame f;

	vr_ip_frame(skb, VR_ETH_LEN, &f);
	if (!vr_host_at(&f, VR_ETH_LEN, filter))
		return TC_ACT_UNSPEC;
	if ((filter->vif && h->vif != filter->vif) || vr_begin(skb, 1))
		return TC_ACT_UNSPEC;
	VR_STEP(handed, h->vif, h->ifindex);
	if (h->flags & VR_NH_FLOW)
		vr_watch_flow(&v,
			      vr_flow_cross(skb, VR_ETH_LEN, h->vif, VR_FLOW_IN, VR_ASKED_FLOW));
	VR_STEP(verdict, v.op, v.drop);
	return vr_submit(TC_ACT_UNSPEC);
}

SEC("tc")
int vr_watch_fabric(struct __sk_buff *skb)
{
	uint32_t zero = 0;
	struct vr_trace_filter *filter = bpf_map_lookup_elem(&vr_trace_filters, &zero);
	struct vr_node *node = bpf_map_lookup_elem(&vr_nodes, &zero);
	struct vr_verdict v = {};
	struct vr_handed handed;
	struct vr_frame f;

	if (!filter || !node)
		return TC_ACT_UNSPEC;
	if (vr_handed_of(skb, &handed))
		return vr_watch_handed(skb, filter, &handed);
	vr_fabric_frame(skb, node, &f);
	if (!vr_host_at(&f, VR_ETH_LEN, filter) &&
	    !vr_host_at(&f, VR_ETH_LEN + vr_wrapped(node, &f), filter))
		return TC_ACT_UNSPEC;
	if (vr_begin(skb, 1))
		return TC_ACT_UNSPEC;
	vr_decide_fabric(0, node, &f, &v);
	if (v.nh && vr_is_delivered(v.op))
		vr_watch_flow(&v, vr_flow_enter(skb, VR_ETH_LEN + v.pop, v.nh, v.asked));
	VR_STEP(verdict, v.op, v.drop);
	if (v.op == VR_OP_PASS || (filter->vif && (!v.nh || v.nh->vif != filter->vif)))
		return TC_ACT_UNSPEC;
	return vr_submit(TC_ACT_UNSPEC);
}
