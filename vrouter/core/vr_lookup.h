/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Look-ups in the tables. A mover says how it reaches a record by ten functions, which give a
 * pointer or none, and how it calls the look-up of routes; here are those of a process that has the
 * tables in its memory.
 */
#ifndef VR_LOOKUP_H
#define VR_LOOKUP_H

#include "vr_bytes.h"

#ifndef VR_TABLES_OWN
struct vr_tables {
	const struct vr_vif *vifs;
	const struct vr_vrf *vrfs;
	const struct vr_nh *nhs;
	const struct vr_group *groups;
	const uint64_t *labels;
	const uint64_t *vnis;
	const struct vr_mac *macs;
	const struct vr_flood *floods;
	const struct vr_block *blocks;
	const struct vr_hosts *hosts;
	const struct vr_node *node;
	uint32_t block_count;
	uint32_t host_count; /* buckets */
};

#define VR_TABLE(name, type, member, count)                                                        \
	VR_INLINE const type *name(const struct vr_tables *t, uint32_t i)                          \
	{                                                                                          \
		return i < (count) ? &t->member[i] : 0;                                            \
	}
VR_TABLE(vr_vif_at, struct vr_vif, vifs, VR_MAX_VIFS)
VR_TABLE(vr_vrf_at, struct vr_vrf, vrfs, VR_VRF_SLOTS)
VR_TABLE(vr_nh_at, struct vr_nh, nhs, VR_MAX_NHS)
VR_TABLE(vr_group_at, struct vr_group, groups, VR_MAX_GROUPS)
VR_TABLE(vr_label_at, uint64_t, labels, VR_MAX_LABELS)
VR_TABLE(vr_vni_at, uint64_t, vnis, VR_MAX_VNIS)
VR_TABLE(vr_mac_at, struct vr_mac, macs, VR_MAX_MACS)
VR_TABLE(vr_flood_at, struct vr_flood, floods, VR_MAX_FLOODS)
VR_TABLE(vr_block_at, struct vr_block, blocks, t->block_count)
VR_TABLE(vr_hosts_at, struct vr_hosts, hosts, t->host_count)
VR_TABLE(vr_node_at, struct vr_node, node, 1)
#undef VR_TABLE
#endif

/* Prefixes of blocks are 0, 4, ... 124 bits long, and each step's is longer than the last. */
#define VR_MAX_STEPS 32

/*
 * One step: whether the address has the block's prefix, and its entry in the block. It has no
 * branch, because a verifier would follow both sides of one in every step: far has all bits set
 * when the prefix reaches into the lower half, and clang does not see it.
 */
VR_INLINE int vr_route_step(const struct vr_block *b, uint32_t length, uint64_t hi, uint64_t lo,
			    uint64_t *entry, uint64_t *best)
{
	uint64_t far = 0 - (uint64_t)(length >> 6 & 1);
	uint64_t differ_hi = hi ^ b->prefix.hi, differ_lo = lo ^ b->prefix.lo, has, last, word;

	VR_OPAQUE(far);
	last = differ_hi ^ ((differ_hi ^ differ_lo) & far);
	word = hi ^ ((hi ^ lo) & far);
	*entry = b->entries[word >> ((60 - length) & 63) & (VR_BLOCK_ENTRIES - 1)];
	has = 0 - ((b->otherwise | (0 - b->otherwise)) >> 63);
	VR_OPAQUE(has);
	*best ^= (*best ^ b->otherwise) & has;
	/* Shifted in two steps, because all 64 bits are too many for one. */
	return !(last >> 1 >> (~length & 63) | (differ_hi & far));
}

/* Where the look-up ends: a route, none, or one whose prefix goes on with more bits than the entry
 * says. */
VR_INLINE uint64_t vr_route_end(uint64_t entry, uint32_t length, uint64_t hi, uint64_t lo,
				uint64_t best)
{
	uint32_t at = length + VR_BLOCK_BITS;
	uint64_t left = at < 64 ? hi << at | lo >> (64 - at) : lo << (at & 63);

	if (!(entry & VR_ROUTE_TAIL))
		return entry ? entry : best;
	if (left >> ((at - VR_ROUTE_BITS(entry)) & 63) != VR_ROUTE_TAIL_OF(entry))
		return best;
	return VR_ROUTE_WITHOUT_TAIL(entry);
}

/*
 * The route of the longest prefix, or 0. The root has the empty prefix. An entry says how long the
 * prefix of the block below is, so that the next entry can be loaded while the prefix is still on
 * its way from memory: one cache miss a step, not two.
 */
VR_INLINE uint64_t vr_route_find(const struct vr_tables *t, uint32_t root, uint64_t hi, uint64_t lo)
{
	uint64_t entry = VR_ROUTE_CHILD | root, best = 0;

	if (root == 0)
		return 0;
#pragma nounroll
	for (int step = 0; step < VR_MAX_STEPS; step++) {
		const struct vr_block *b = vr_block_at(t, VR_ROUTE_REF(entry));
		uint32_t length = VR_ROUTE_BITS(entry) & 127;

		if (!b || !vr_route_step(b, length, hi, lo, &entry, &best))
			return best;
		if (!(entry & VR_ROUTE_CHILD))
			return vr_route_end(entry, length, hi, lo, best);
	}
	return best;
}

/* A mover that has tables of its own has this of its own, too. */
VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, uint32_t root, struct vr_addr a);
#ifndef VR_TABLES_OWN
VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, uint32_t root, struct vr_addr a)
{
	return vr_route_find(t, root, a.hi, a.lo);
}
#endif

/* The route of a single IPv4 address, or 0 if it is not among the hosts. */
VR_INLINE uint64_t vr_host_find(const struct vr_tables *t, uint32_t vrf, uint32_t address)
{
	const struct vr_node *node = vr_node_at(t, 0);
	uint32_t buckets = node ? VR_READ_ONCE(node->hosts) : 0;
	uint64_t key = VR_HOST_KEY(vrf, address);
	const struct vr_hosts *b = vr_hosts_at(t, VR_HOST_BUCKET(key, buckets));

	if (!b || !buckets)
		return 0;
#pragma unroll
	for (uint32_t way = 0; way < VR_HOST_WAYS; way++)
		if (VR_READ_ONCE(b->ways[way].key) == key)
			return VR_READ_ONCE(b->ways[way].route);
	return 0;
}

/* The nexthop of a label: the label names the port, so no route is looked up (RFC 4364, 4.3.2). */
VR_INLINE const struct vr_nh *vr_label_lookup(const struct vr_tables *t, uint32_t label)
{
	const uint64_t *at = vr_label_at(t, label);
	uint32_t nh = at ? (uint32_t)VR_READ_ONCE(*at) : 0;

	return nh ? vr_nh_at(t, nh) : 0;
}

/* The VRF of a VNI, or 0. */
VR_INLINE uint32_t vr_vni_lookup(const struct vr_tables *t, uint32_t vni)
{
	uint32_t first = VR_VNI_BUCKET(vni) * VR_VNI_WAYS;

	for (uint32_t way = 0; way < VR_VNI_WAYS; way++) {
		const uint64_t *at = vr_vni_at(t, first + way);
		uint64_t word = at ? VR_READ_ONCE(*at) : 0;

		if (word && VR_VNI_OF(word) == vni)
			return VR_VNI_VRF(word);
	}
	return 0;
}

/* The mixing lets every bit of the key reach the upper ones, which choose; the second bucket is
 * chosen by bits of their own. */
VR_INLINE uint64_t vr_mac_mix(uint64_t key)
{
	key *= VR_MAC_HASH;
	return (key ^ key >> 32) * VR_MAC_HASH;
}

/* The route of a MAC address in a network, or 0. */
VR_INLINE uint64_t vr_mac_find(const struct vr_tables *t, uint64_t key)
{
	uint64_t mixed = vr_mac_mix(key);
	uint32_t buckets = 2 * VR_MAC_WAYS;

#pragma nounroll
	for (uint32_t way = 0; way < buckets; way++) {
		uint32_t shift =
		    way < VR_MAC_WAYS ? 64 - VR_MAC_BUCKET_BITS : 64 - 2 * VR_MAC_BUCKET_BITS;
		uint32_t bucket = (uint32_t)(mixed >> shift) & (VR_MAC_BUCKETS - 1);
		const struct vr_mac *m =
		    vr_mac_at(t, bucket * VR_MAC_WAYS + (way & (VR_MAC_WAYS - 1)));

		if (m && VR_READ_ONCE(m->key) == key)
			return VR_READ_ONCE(m->route);
	}
	return 0;
}

/* A mover that has tables of its own has this of its own, too. */
VR_INLINE uint64_t vr_mac_lookup(const struct vr_tables *t, uint64_t key);
#ifndef VR_TABLES_OWN
VR_INLINE uint64_t vr_mac_lookup(const struct vr_tables *t, uint64_t key)
{
	return vr_mac_find(t, key);
}
#endif

#endif
