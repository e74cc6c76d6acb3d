/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a node wraps, the node at the tunnel's far end unwraps to the same bytes. */
#ifndef FUZZ_TUNNEL_H
#define FUZZ_TUNNEL_H

#include "fuzz_bytes.h"

/* The far end: every label is its one port's, and so are all addresses of its one network. */
static struct {
	struct vr_tables tables;
	struct vr_node *node;
	struct vr_nh *nhs;
	struct vr_vrf *vrfs;
	uint64_t *vnis;
	uint64_t *labels;
} far_end;

static const uint64_t far_port_mac = VR_MAC_KNOWN | 0x990000000002;

static void *table(size_t records, size_t size)
{
	void *memory = calloc(records, size);

	CHECK(memory);
	return memory;
}

static void make_far_end(void)
{
	struct vr_block *blocks = table(2, sizeof(*blocks));
	uint64_t *labels = table(VR_MAX_LABELS, sizeof(*labels));

	far_end.node = table(1, sizeof(*far_end.node));
	far_end.nhs = table(VR_MAX_NHS, sizeof(*far_end.nhs));
	far_end.vrfs = table(VR_VRF_SLOTS, sizeof(*far_end.vrfs));
	far_end.vnis = table(VR_MAX_VNIS, sizeof(*far_end.vnis));
	for (uint32_t i = 0; i < VR_MAX_LABELS; i++)
		labels[i] = 1;
	for (uint32_t i = 0; i < VR_BLOCK_ENTRIES; i++)
		blocks[1].entries[i] = (uint64_t)VR_BLOCK_BITS << 52 | 1;
	far_end.labels = labels;
	far_end.nhs[2] = (struct vr_nh){.type = VR_NH_FRAMES, .vif = 1};
	far_end.nhs[1] = (struct vr_nh){
	    .type = VR_NH_ENCAP, .dmac = far_port_mac, .mtu = UINT32_MAX, .ifindex = 1, .vif = 1};
	far_end.vrfs[1] = (struct vr_vrf){.id = 1, .root4 = 1, .root6 = 1};
	far_end.vrfs[VR_PEERS_VRF] = (struct vr_vrf){.id = 2, .root6 = 1};
	far_end.tables = (struct vr_tables){.vifs = table(VR_MAX_VIFS, sizeof(struct vr_vif)),
					    .vrfs = far_end.vrfs,
					    .nhs = far_end.nhs,
					    .groups = table(VR_MAX_GROUPS, sizeof(struct vr_group)),
					    .labels = labels,
					    .vnis = far_end.vnis,
					    .macs = table(VR_MAX_MACS, sizeof(struct vr_mac)),
					    .blocks = blocks,
					    .node = far_end.node,
					    .block_count = 2};
}

/* The far end becomes the one that a packet was sent to, and knows its VNI. */
static uint64_t *meet(const struct packet *p, const struct vr_nh *nh)
{
	const uint8_t *vxlan = p->data + VR_ETH_LEN + nh->outer + VR_UDP_LEN;
	uint32_t vni = vr_get32(vxlan + 4) >> 8;
	uint64_t *word = &far_end.vnis[VR_VNI_BUCKET(vni) * VR_VNI_WAYS];

	far_end.node->mac = vr_get_mac(p->data) | VR_MAC_KNOWN;
	far_end.node->address = 0;
	far_end.node->address6 = vr_addr_of(0);
	if (nh->outer == VR_IP6_LEN)
		far_end.node->address6 = vr_get_addr(p->data + VR_ETH_LEN + 24);
	else
		far_end.node->address = vr_get32(p->data + VR_ETH_LEN + 16);
	if (nh->encapsulation != VR_VXLAN)
		return NULL;
	far_end.node->flags = VR_NODE_VXLAN;
	far_end.vrfs[1].gateway_mac = vr_get_mac(vxlan + VR_VXLAN_LEN) | VR_MAC_KNOWN;
	*word = (uint64_t)1 << 32 | vni;
	return word;
}

/* The far end's network becomes one link, of which nobody is known, and every label is its frames',
 * or its one port's and the network none again. */
static void far_link(uint32_t label, int link, int word)
{
	far_end.nhs[2].flags = word ? VR_NH_WORD : 0;
	far_end.labels[label % VR_MAX_LABELS] = link ? 2 : 1;
	far_end.vrfs[1].flags = link ? VR_VRF_BRIDGE | VR_VRF_FLOOD_UNKNOWN : 0;
	far_end.vrfs[1].flood = link ? 1 : 0;
}

/* The whole frame has just been wrapped in p. */
static void check_frame_tunnel(struct packet *p, const struct vr_verdict *sent,
			       const struct shown *s, const uint8_t *frame)
{
	const uint8_t kind = sent->nh->encapsulation;
	struct shown there = {p->data, p->length, s->length + sent->nh->push, s->gso};
	uint64_t *vni = meet(p, sent->nh);
	struct vr_verdict v;

	far_end.vrfs[1].gateway_mac = VR_MAC_KNOWN | 1; /* a group's address is no gateway's */
	far_link(sent->push.label, 1, kind == VR_WORD_MPLSOUDP || kind == VR_WORD_MPLSOGRE);
	v = decide_shown(&far_end.tables, NULL, &there);
	far_link(sent->push.label, 0, 0);
	if (vni)
		*vni = 0;
	far_end.node->flags = 0;
	if (kind != VR_VXLAN && sent->push.label >= VR_MAX_LABELS) {
		CHECK(v.op == VR_OP_DROP && v.drop == VR_DROP_unknown_label);
		return;
	}
	CHECK(v.op == VR_OP_FLOOD && v.pop == sent->nh->push && v.version == sent->version);
	pop_frame(p, &v);
	check_padded(p, s->bytes);
	CHECK(memcmp(p->data, frame, s->bytes) == 0);
}

/* The packet p has just been wrapped; inner is what it was behind its Ethernet header. */
static void check_tunnel(struct packet *p, const struct vr_verdict *sent, const struct shown *s,
			 const uint8_t *inner)
{
	const size_t bytes = s->bytes - VR_ETH_LEN;
	struct shown there = {p->data, p->length, s->length + sent->nh->push, s->gso};
	uint64_t *vni = meet(p, sent->nh);
	struct vr_verdict v = decide_shown(&far_end.tables, NULL, &there);

	if (vni)
		*vni = 0;
	far_end.node->flags = 0;
	if (sent->nh->encapsulation != VR_VXLAN && sent->push.label >= VR_MAX_LABELS) {
		CHECK(v.op == VR_OP_DROP && v.drop == VR_DROP_unknown_label);
		return;
	}
	CHECK(v.op == VR_OP_DECAP && v.nh == &far_end.nhs[1]);
	CHECK(v.version == sent->version);
	move(p, NULL, &v);
	CHECK(p->length == s->bytes);
	CHECK(vr_get_mac(p->data) == vr_mac_bits(far_port_mac));
	CHECK(memcmp(p->data + VR_ETH_LEN, inner, bytes) == 0);
}

#endif
