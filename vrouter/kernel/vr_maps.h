/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tables as BPF maps, and how vr_lookup.h reaches them: so this comes before vr_decide.h. The
 * agent writes what tells where packets go; the last three are counters, which the programs write.
 */
#ifndef VR_MAPS_H
#define VR_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define VR_TABLES_OWN
struct vr_tables;
#include "../core/vr_bytes.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, struct vr_vif);
} vr_vifs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_VRF_SLOTS);
	__type(key, __u32);
	__type(value, struct vr_vrf);
} vr_vrfs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_NHS);
	__type(key, __u32);
	__type(value, struct vr_nh);
} vr_nhs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_GROUPS);
	__type(key, __u32);
	__type(value, struct vr_group);
} vr_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_LABELS);
	__type(key, __u32);
	__type(value, __u64);
} vr_labels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_VNIS);
	__type(key, __u32);
	__type(value, __u64);
} vr_vnis SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_MACS);
	__type(key, __u32);
	__type(value, struct vr_mac);
} vr_macs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_MAX_FLOODS);
	__type(key, __u32);
	__type(value, struct vr_flood);
} vr_floods SEC(".maps");

/* The loader makes it as large as the configuration's limit of routes asks for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_DEFAULT_BLOCKS);
	__type(key, __u32);
	__type(value, struct vr_block);
} vr_blocks SEC(".maps");

/* As large as fits the limit of routes, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_DEFAULT_HOSTS);
	__type(key, __u32);
	__type(value, struct vr_hosts);
} vr_host_buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_node);
} vr_nodes SEC(".maps");

/* Interface index to vif: interfaces' numbers are too sparse for an array. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, __u32);
} vr_ports SEC(".maps");

/* The same by the number's lower bits, for the interface that had them last: a look-up that needs
 * no call. The vif's record says whether it is right. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, __u32);
} vr_port_hints SEC(".maps");
_Static_assert((VR_MAX_VIFS & (VR_MAX_VIFS - 1)) == 0, "a number's lower bits name a hint");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vr_totals);
} vr_total SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, struct vr_vif_count);
} vr_vif_counts SEC(".maps");

/* Losses, by vif. One array for all CPUs, counted atomically: they are few, and one a CPU would
 * take 1.4 MB each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VR_MAX_VIFS);
	__type(key, __u32);
	__type(value, struct vr_vif_drops);
} vr_vif_losses SEC(".maps");

#define VR_TABLE(name, type, map)                                                                  \
	VR_INLINE const type *name(const struct vr_tables *t, uint32_t i)                          \
	{                                                                                          \
		(void)t;                                                                           \
		return bpf_map_lookup_elem(&map, &i);                                              \
	}
VR_TABLE(vr_vif_at, struct vr_vif, vr_vifs)
VR_TABLE(vr_vrf_at, struct vr_vrf, vr_vrfs)
VR_TABLE(vr_nh_at, struct vr_nh, vr_nhs)
VR_TABLE(vr_group_at, struct vr_group, vr_groups)
VR_TABLE(vr_label_at, uint64_t, vr_labels)
VR_TABLE(vr_vni_at, uint64_t, vr_vnis)
VR_TABLE(vr_mac_at, struct vr_mac, vr_macs)
VR_TABLE(vr_flood_at, struct vr_flood, vr_floods)
VR_TABLE(vr_block_at, struct vr_block, vr_blocks)
VR_TABLE(vr_hosts_at, struct vr_hosts, vr_host_buckets)
VR_TABLE(vr_node_at, struct vr_node, vr_nodes)
#undef VR_TABLE

#endif
