/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Look-ups in the tables. A mover says how it reaches a record by seven functions, which give a
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
	const struct vr_block *blocks;
	const struct vr_node *node;
	uint32_t block_count;
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
VR_TABLE(vr_block_at, struct vr_block, blocks, t->block_count)
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

/* The route of an IPv4 address in a network. */
VR_INLINE uint64_t vr_route_lookup4(const struct vr_tables *t, const struct vr_vrf *vrf,
				    uint32_t address)
{
	struct vr_addr a = {(uint64_t)address << 32, 0};

	return vr_route_lookup(t, VR_READ_ONCE(vrf->root4), a);
}

/* The nexthop of a label: the label names the port, so no route is looked up (RFC 4364, 4.3.2). */
VR_INLINE const struct vr_nh *vr_label_lookup(const struct vr_tables *t, uint32_t label)
{
	const uint64_t *at = vr_label_at(t, label);
	uint32_t nh = at ? (uint32_t)VR_READ_ONCE(*at) : 0;

	return nh ? vr_nh_at(t, nh) : 0;
}

/* The VRF of a VNI, or none. */
VR_INLINE const struct vr_vrf *vr_vni_lookup(const struct vr_tables *t, uint32_t vni)
{
	uint32_t first = VR_VNI_BUCKET(vni) * VR_VNI_WAYS;

	for (uint32_t way = 0; way < VR_VNI_WAYS; way++) {
		const uint64_t *at = vr_vni_at(t, first + way);
		uint64_t word = at ? VR_READ_ONCE(*at) : 0;

		if (word && VR_VNI_OF(word) == vni)
			return vr_vrf_at(t, VR_VNI_VRF(word));
	}
	return 0;
}

#endif
