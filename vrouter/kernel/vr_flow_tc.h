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
#include "../core/vr_flow_table.h"

/* The loader makes it as large as limits.flows asks for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_DEFAULT_FLOW_PAGES);
	__type(key, __u32);
	__type(value, struct vr_flow_page);
} vr_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_flow_head);
} vr_flow_heads SEC(".maps");

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
} vr_flow_counts SEC(".maps");

/* Where a packet's flow is read to, and a new record written. Softirqs are off while a program at
 * tc runs, so no other one comes in between on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_flow_room);
} vr_flow_rooms SEC(".maps");

VR_INLINE uint64_t vr_flow_clock(void)
{
	return bpf_ktime_get_coarse_ns();
}

VR_INLINE struct vr_flow_head *vr_flow_head(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_flow_heads, &zero);
}

VR_INLINE struct vr_flow_page *vr_flow_page(uint32_t page)
{
	return bpf_map_lookup_elem(&vr_flows, &page);
}

VR_INLINE uint64_t *vr_flow_used(uint32_t vrf)
{
	return bpf_map_lookup_elem(&vr_flow_counts, &vrf);
}

/* Stages (vr_stages.h). */
__attribute__((noinline)) uint32_t vr_flow_seek_stage(const struct vr_flow_key *key,
						      uint32_t choice, uint32_t except)
{
	return key ? vr_flow_seek_in_table(key, choice, except) : 0;
}

VR_INLINE uint32_t vr_flow_seek_choice(const struct vr_flow_key *key, uint32_t choice,
				       uint32_t except)
{
	return vr_flow_seek_stage(key, choice, except);
}

__attribute__((noinline)) uint64_t vr_flow_claim_stage(const struct vr_flow_key *key)
{
	return key ? vr_flow_claim_in_table(key) : 0;
}

VR_INLINE uint64_t vr_flow_claim(const struct vr_flow_key *key)
{
	return vr_flow_claim_stage(key);
}

__attribute__((noinline)) int vr_flow_publish_stage(const struct vr_flow_key *key,
						    const struct vr_flow *fresh, uint64_t place)
{
	if (key && fresh)
		vr_flow_publish_in_table(key, fresh, place);
	return 0;
}

VR_INLINE void vr_flow_publish(const struct vr_flow_key *key, const struct vr_flow *fresh,
			       uint64_t place)
{
	vr_flow_publish_stage(key, fresh, place);
}

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	return vr_flow_find_in_table(key);
}

VR_INLINE struct vr_flow_room *vr_flow_room(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_flow_rooms, &zero);
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

VR_INLINE int vr_flow_otherwise(uint32_t policy)
{
	const struct vr_policy *p = bpf_map_lookup_elem(&vr_policies, &policy);

	return p && p->otherwise != 0;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	return vr_flow_make_within(key, fresh, vrf, vr_vrf_at(0, vrf), VR_LIVE);
}

/* Whether a frame whose IP packet is at an offset, if it has one, may cross a vif in a direction:
 * 0, or a drop reason. asked is of enum vr_asked. A stage. */
__attribute__((noinline)) int vr_flow_cross(struct __sk_buff *skb, uint32_t offset, uint32_t slot,
					    uint32_t direction, uint32_t asked)
{
	struct vr_flow_at at = {.vif = vr_vif_at(0, slot),
				.slot = slot,
				.direction = (uint16_t)direction,
				.asked = (uint16_t)asked,
				.bytes = skb->len};
	struct vr_frame f;

	if (!at.vif || offset > VR_PARSE_MAX)
		return VR_DROP_unknown_vif;
	at.policy = VR_READ_ONCE(at.vif->policy);
	if (at.policy == 0)
		return VR_DROP_NONE; /* switched to packet mode a moment ago */
	vr_ip_frame(skb, offset, &f);
	return (int)vr_flow_decide(&f, offset, &at);
}

/* A packet that leaves a vif. */
VR_INLINE int vr_flow_leave(struct __sk_buff *skb, const struct vr_vif *vif, uint32_t index,
			    uint32_t asked)
{
	return vif->policy ? vr_flow_cross(skb, VR_ETH_LEN, index, VR_FLOW_OUT, asked) : 0;
}

/* And that a nexthop delivers to one. */
VR_INLINE int vr_flow_enter(struct __sk_buff *skb, uint32_t offset, const struct vr_nh *nh,
			    uint32_t asked)
{
	return nh->flags & VR_NH_FLOW ? vr_flow_cross(skb, offset, nh->vif, VR_FLOW_IN, asked) : 0;
}

/* A packet from a vif, and to another one if that is where the nexthop leads. */
VR_INLINE int vr_flow_forward(struct __sk_buff *skb, const struct vr_vif *vif, uint32_t index,
			      const struct vr_verdict *v)
{
	int lost = vr_flow_leave(skb, vif, index, v->asked);

	return lost ? lost : vr_flow_enter(skb, VR_ETH_LEN, v->nh, v->asked);
}

#endif
