/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow mode at tc: the table of flows. Packets are checked where they enter from a vif that has a
 * policy, and where they are delivered to one. Other packets come here never.
 */
#ifndef VR_FLOW_TC_H
#define VR_FLOW_TC_H

#include "vr_count.h"
#include "vr_skb.h"
#include "../core/vr_flow_cross.h"

/* Preallocated, so that a full table is an error and never a lack of memory, and a packet never
 * waits for the allocator. The loader makes it as large as limits.flows asks for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VR_DEFAULT_FLOWS);
	__type(key, struct vr_flow_key);
	__type(value, struct vr_flow);
} vr_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_POLICIES);
	__type(key, __u32);
	__type(value, struct vr_policy);
} vr_policies SEC(".maps");

/* How many flows each VRF has: counted up here, and down by whoever removes one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_VRF_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} vr_flow_used SEC(".maps");

/* Where a new record is written. Softirqs are off while a program at tc runs, so no other one comes
 * in between on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_flow);
} vr_flow_drafts SEC(".maps");

/* -EEXIST of linux/errno.h, which BPF programs cannot include. */
#define VR_EEXIST (-17)

VR_INLINE uint64_t vr_flow_clock(void)
{
	return bpf_ktime_get_coarse_ns();
}

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	return bpf_map_lookup_elem(&vr_flows, key);
}

VR_INLINE struct vr_flow *vr_flow_draft(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_flow_drafts, &zero);
}

/* A stage (vr_stages.h). */
__attribute__((noinline)) int vr_policy_ask(uint32_t slot, const struct vr_flow_key *key,
					    uint32_t direction)
{
	const struct vr_policy *p = bpf_map_lookup_elem(&vr_policies, &slot);

	return p && key && vr_policy_allows(p, key, direction);
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	return vr_policy_ask(policy, key, direction);
}

/* A new entry of the table, within the network's quota. The count is exact: it goes up before the
 * entry is made, and down again if that fails. Another CPU may have made the entry meanwhile. */
VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	const struct vr_vrf *network = vr_vrf_at(0, vrf);
	uint64_t *used = bpf_map_lookup_elem(&vr_flow_used, &vrf);
	uint64_t quota;
	long failed;

	if (!network || !used)
		return VR_DROP_unknown_vif;
	quota = VR_READ_ONCE(network->flows);
	if (!VR_LIVE)
		return quota && *used >= quota ? VR_DROP_flow_quota : VR_DROP_NONE;
	if (__sync_fetch_and_add(used, 1) >= quota && quota) {
		__sync_fetch_and_add(used, -1);
		return VR_DROP_flow_quota;
	}
	failed = bpf_map_update_elem(&vr_flows, key, fresh, BPF_NOEXIST);
	if (!failed)
		return VR_DROP_NONE;
	__sync_fetch_and_add(used, -1);
	return failed == VR_EEXIST ? VR_DROP_NONE : VR_DROP_flow_table_full;
}

/* What tells the flow of an ICMP error: its own headers, and those of the packet that it quotes. */
#define VR_FLOW_QUOTE4 (2 * (VR_IP4_LEN + VR_IP4_OPTIONS + VR_ICMP_LEN))
#define VR_FLOW_QUOTE6 (2 * VR_FLOW_QUOTE_MAX)

/* The part of the frame that tells the flow of the IP packet at an offset. */
VR_INLINE void vr_flow_frame(struct __sk_buff *skb, uint32_t offset, struct vr_frame *f)
{
	const uint8_t *ip;

	vr_ip_frame(skb, offset, f);
	ip = f->data + offset;
	if (ip + VR_IP4_LEN > f->end)
		return;
	if (ip[0] >> 4 == 4 && ip[9] == VR_PROTO_ICMP)
		vr_frame_of(skb, offset + VR_FLOW_QUOTE4, f);
	else if (ip[0] >> 4 == 6 && (ip[6] == VR_PROTO_ICMP6 || vr_ip6_extends(ip[6])))
		vr_frame_of(skb, offset + VR_FLOW_QUOTE6, f);
}

/* Whether the IP packet at an offset may cross a vif in a direction: 0, or a drop reason. A stage.
 */
__attribute__((noinline)) int vr_flow_cross(struct __sk_buff *skb, uint32_t offset, uint32_t slot,
					    uint32_t direction)
{
	struct vr_flow_at at = {
	    .vif = vr_vif_at(0, slot), .slot = slot, .direction = direction, .bytes = skb->len};
	struct vr_frame f;

	if (!at.vif || offset > VR_PARSE_MAX)
		return VR_DROP_unknown_vif;
	at.policy = VR_READ_ONCE(at.vif->policy);
	if (at.policy == 0)
		return VR_DROP_NONE; /* switched to packet mode a moment ago */
	vr_flow_frame(skb, offset, &f);
	return (int)vr_flow_decide(&f, offset, &at);
}

/* A packet from a vif, and to another one if that is where the nexthop leads. */
VR_INLINE int vr_flow_forward(struct __sk_buff *skb, const struct vr_vif *vif, uint32_t index,
			      const struct vr_nh *nh)
{
	int lost = vif->policy ? vr_flow_cross(skb, VR_ETH_LEN, index, VR_FLOW_OUT) : 0;

	if (!lost && nh->flags & VR_NH_FLOW)
		lost = vr_flow_cross(skb, VR_ETH_LEN, nh->vif, VR_FLOW_IN);
	return lost;
}

#endif
