/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Look-ups in the tables. A mover says how it reaches a record by six functions, which give a
 * pointer or none; here are those of a process that has the tables in its memory.
 */
#ifndef VR_LOOKUP_H
#define VR_LOOKUP_H

#include "vr_bytes.h"

#ifndef VR_TABLES_OWN
struct vr_tables {
	const struct vr_vif *vifs;
	const struct vr_vrf *vrfs;
	const struct vr_nh *nhs;
	const uint64_t *labels;
	const uint64_t *vnis;
	const uint64_t *trie;
	const struct vr_node *node;
};

#define VR_TABLE(name, type, member, count)                                                        \
	VR_INLINE const type *name(const struct vr_tables *t, uint32_t i)                          \
	{                                                                                          \
		return i < (count) ? &t->member[i] : 0;                                            \
	}
VR_TABLE(vr_vif_at, struct vr_vif, vifs, VR_MAX_VIFS)
VR_TABLE(vr_vrf_at, struct vr_vrf, vrfs, VR_MAX_VRFS)
VR_TABLE(vr_nh_at, struct vr_nh, nhs, VR_MAX_NHS)
VR_TABLE(vr_label_at, uint64_t, labels, VR_MAX_LABELS)
VR_TABLE(vr_vni_at, uint64_t, vnis, VR_MAX_VNIS)
VR_TABLE(vr_trie_at, uint64_t, trie, VR_MAX_TRIE_ENTRIES)
#undef VR_TABLE
#endif

/*
 * The route of the longest prefix, or 0: eight bits of the address a step, so four loads at most.
 * Shorter prefixes are spread over the entries that no longer one claims.
 */
VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, const struct vr_vrf *vrf,
				   uint32_t address)
{
	uint32_t block = VR_READ_ONCE(vrf->root);

	if (block == 0)
		return 0;
#pragma unroll
	for (int shift = 24; shift >= 0; shift -= 8) {
		uint32_t i = block * VR_TRIE_STRIDE + ((address >> shift) & 0xff);
		const uint64_t *at = vr_trie_at(t, i);
		uint64_t entry = at ? VR_READ_ONCE(*at) : 0;

		if (!(entry & VR_ROUTE_CHILD))
			return entry;
		block = VR_ROUTE_REF(entry);
	}
	return 0;
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
