/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receiving with aggregation. The kernel joins the packets of a TCP stream (GRO) only where it can
 * look into the tunnel: into MPLS it cannot, and into UDP only as the port's socket says
 * (udp_gro_receive in net/ipv4/udp_offload.c). Native XDP comes before that: with the tunnel's
 * headers gone already, inner packets are joined as any others.
 *
 * The program touches only what vr_decide.h gives to a vif, and hands the delivery to tc in the
 * packet's metadata. All else goes on as it came, so that tc alone counts packets and names losses.
 */
#ifndef VR_FABRIC_XDP_H
#define VR_FABRIC_XDP_H

#include "vr_stages.h"
#include "../core/vr_decide.h"
#include "../core/vr_build.h"

/* What tc needs to deliver a packet. GRO joins only packets that agree in it (skb_metadata_differs
 * in gro_list_prepare), and no packet has it from the wire. */
struct vr_handed {
	uint32_t magic;
	uint32_t ifindex;
	uint32_t vif;
	uint32_t flags; /* of the nexthop */
};

/* Ends in the version of the record: after a change of programs, tc must not misread it. */
#define VR_HANDED_MAGIC 0x76724801

/* The packet's delivery, if XDP has decided it. */
VR_INLINE int vr_handed_of(const struct __sk_buff *skb, struct vr_handed *out)
{
	const uint8_t *meta = (const uint8_t *)(long)skb->data_meta;
	const uint8_t *data = (const uint8_t *)(long)skb->data;
	const struct vr_handed *h = (const struct vr_handed *)meta;

	if (meta + sizeof(*h) > data || h->magic != VR_HANDED_MAGIC)
		return 0;
	*out = *h;
	return 1;
}

VR_INLINE struct vr_frame vr_xdp_frame(struct xdp_md *ctx)
{
	struct vr_frame f = {
	    .data = (const uint8_t *)(long)ctx->data,
	    .end = (const uint8_t *)(long)ctx->data_end,
	    .length = ctx->data_end - ctx->data,
	    .hook = VR_HOOK_XDP,
	    .packet = ctx,
	};

	return f;
}

/* Takes the tunnel's headers off, and makes room for the metadata. A driver without metadata
 * refuses the latter; then the packet is put together again as it was. */
VR_INLINE int vr_xdp_strip(struct xdp_md *ctx, int bytes)
{
	if (bpf_xdp_adjust_head(ctx, bytes))
		return -1;
	if (!bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct vr_handed)))
		return 0;
	bpf_xdp_adjust_head(ctx, -bytes);
	return -1;
}

/* Writes the headers that the container gets. Its MAC address, which is not the node's, keeps the
 * host's own stack from taking the packet if tc should ever not. */
VR_INLINE int vr_xdp_hand_over(struct xdp_md *ctx, const struct vr_verdict *v)
{
	struct vr_handed *h = (struct vr_handed *)(long)ctx->data_meta;
	uint8_t *data = (uint8_t *)(long)ctx->data, *end = (uint8_t *)(long)ctx->data_end;

	if ((uint8_t *)(h + 1) > data || data + VR_ETH_LEN + VR_IP4_LEN > end)
		return XDP_ABORTED; /* never: the decision has seen these bytes */
	h->magic = VR_HANDED_MAGIC;
	h->ifindex = v->nh->ifindex;
	h->vif = v->nh->vif;
	h->flags = v->nh->flags;
	vr_build_eth(data, VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
	vr_build_tos(data + VR_ETH_LEN, v->tos, v->version);
	return XDP_PASS;
}

#if !defined(VR_TRACING) && !defined(VR_FABRIC_XDP_FUNCTIONS)
SEC("xdp")
int vr_fabric_xdp(struct xdp_md *ctx)
{
	struct vr_frame f = vr_xdp_frame(ctx);
	struct vr_verdict v = {};
	uint32_t zero = 0;
	struct vr_node *node = bpf_map_lookup_elem(&vr_nodes, &zero);

	if (!node)
		return XDP_PASS;
	vr_decide_fabric(0, node, &f, &v);
	if (v.op != VR_OP_DECAP || v.nh->flags & VR_NH_FABRIC || vr_xdp_strip(ctx, v.pop))
		return XDP_PASS;
	return vr_xdp_hand_over(ctx, &v);
}
#endif

#endif
