/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A packet at tc as bytes: pulled in as far as a decision needs them, and not further, because that
 * costs the receiver. What is read is a vr_frame; what is written comes from vr_head.
 */
#ifndef VR_SKB_H
#define VR_SKB_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "vr_stages.h"

VR_INLINE void vr_frame_load(const struct __sk_buff *skb, struct vr_frame *f)
{
	f->data = VR_SKB_POINTER(skb, data);
	f->end = VR_SKB_POINTER(skb, data_end);
	f->length = skb->len;
	f->gso_size = skb->gso_size;
	f->hook = VR_HOOK_TC;
	f->packet = (void *)(long)skb;
}

/* The frame's bytes. Headers outside the linear part are pulled in, which is rare: drivers and
 * segmentation leave all headers in it, so a list of fragments (SKB_GSO_FRAGLIST), which must not
 * be pulled, is not. */
VR_INLINE void vr_frame_of(struct __sk_buff *skb, uint32_t want, struct vr_frame *f)
{
	if (want > skb->len)
		want = skb->len;
	if (VR_SKB_POINTER(skb, data) + want > VR_SKB_POINTER(skb, data_end))
		bpf_skb_pull_data(skb, want);
	vr_frame_load(skb, f);
}

/* Pulls in what is needed to decide about the IP packet at an offset: all up to its TCP header, and
 * more where it has options or extensions, asks for a neighbour, or may quote another packet. What
 * is not seen is not checked. Global, as vr_route_entry is: the verifier looks at its ways once. */
__attribute__((noinline)) int vr_pull_ip(struct __sk_buff *skb, uint32_t offset)
{
	const uint8_t *ip;
	struct vr_frame f;
	uint32_t more = 0;

	if (offset > VR_ETH_LEN + VR_TEMPLATE_LEN)
		return -1;
	vr_frame_of(skb, offset + VR_IP4_LEN + VR_TCP_LEN, &f);
	ip = f.data + offset;
	if (ip + 10 > f.end)
		return 0;
	if (ip[0] >> 4 == 4 && ip[9] == VR_PROTO_ICMP)
		more = VR_QUOTE4_REACH;
	else if (ip[0] > 0x45 && ip[0] <= 0x4f)
		more = VR_IP4_OPTIONS + VR_IP4_LEN + VR_TCP_LEN;
	else if (ip[0] >> 4 == 6)
		more = ip[6] == VR_PROTO_TCP || ip[6] == VR_PROTO_UDP || ip[6] == VR_PROTO_GRE
			   ? VR_IP6_LEN + VR_TCP_LEN
			   : VR_QUOTE6_REACH;
	if (more)
		vr_frame_of(skb, offset + more, &f);
	return 0;
}

VR_INLINE void vr_ip_frame(struct __sk_buff *skb, uint32_t offset, struct vr_frame *f)
{
	vr_pull_ip(skb, offset);
	vr_frame_load(skb, f);
}

/* The first bytes of the frame for writing, if there are so many. */
VR_INLINE uint8_t *vr_head(struct __sk_buff *skb, uint32_t bytes)
{
	uint8_t *data = VR_SKB_POINTER(skb, data);

	return data + bytes <= VR_SKB_POINTER(skb, data_end) ? data : 0;
}

/* How many bytes there are between a label and an inner IP packet: those of a frame, and of a
 * control word, if the label is one of frames. */
VR_INLINE uint32_t vr_framed(const struct vr_node *node, const struct vr_frame *f,
			     const uint8_t *label)
{
	const struct vr_nh *nh;

	if (!(node->flags & VR_NODE_FRAMES) || label + VR_LABEL_LEN > f->end)
		return 0;
	nh = vr_label_lookup(0, vr_parse_label(label).label);
	if (!nh || nh->type != VR_NH_FRAMES)
		return 0;
	return nh->flags & VR_NH_WORD ? VR_ETH_LEN + VR_WORD_LEN : VR_ETH_LEN;
}

/* How many bytes a tunnel has behind an outer IP header of so many, by the next header's protocol
 * and first bytes, header included; 0 if it is none. */
VR_INLINE uint32_t vr_wrapped_behind(const struct vr_node *node, const struct vr_frame *f,
				     uint32_t ip, uint8_t proto, const uint8_t *l4)
{
	if (!vr_is_tunnel(proto, l4))
		return 0;
	if (proto == VR_PROTO_GRE)
		return ip + VR_MPLSOGRE_LEN + vr_framed(node, f, l4 + VR_GRE_LEN);
	if (vr_get16(l4 + 2) == VR_PORT_VXLAN)
		return ip + VR_VXLAN_ALL_LEN;
	return ip + VR_MPLSOUDP_LEN + vr_framed(node, f, l4 + VR_UDP_LEN);
}

/* How many bytes a tunnel's packet of this kind has behind its outer Ethernet header, 0 if it is
 * none. The frame shows its first 20 bytes behind an IP header without options. */
VR_INLINE uint32_t vr_wrapped(const struct vr_node *node, const struct vr_frame *f)
{
	const uint8_t *ip = f->data + VR_ETH_LEN;

	if (ip + VR_IP4_LEN + VR_UDP_LEN > f->end)
		return 0;
	if (ip[0] == 0x45)
		return vr_wrapped_behind(node, f, VR_IP4_LEN, ip[9], ip + VR_IP4_LEN);
	if (ip[0] >> 4 != 6 || ip + VR_IP6_LEN + VR_UDP_LEN > f->end)
		return 0;
	return vr_wrapped_behind(node, f, VR_IP6_LEN, ip[6], ip + VR_IP6_LEN);
}

/* Packets are looked at no further than their TCP header, without options: a byte of payload more
 * in the linear part, and the container's TCP cannot join segments (skb_try_coalesce in
 * net/core/skbuff.c); that cost the receiver a third of its CPU time per byte. So a tunnel's packet
 * is pulled in as far as its own kind needs, not as the longest kind does. */
VR_INLINE void vr_fabric_frame(struct __sk_buff *skb, const struct vr_node *node,
			       struct vr_frame *f)
{
	uint32_t wrapped;

	vr_ip_frame(skb, VR_ETH_LEN, f);
	wrapped = vr_wrapped(node, f);
	if (wrapped)
		vr_ip_frame(skb, VR_ETH_LEN + wrapped, f);
}

#endif
