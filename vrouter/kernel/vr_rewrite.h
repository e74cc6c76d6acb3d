/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is done to a packet at tc once it is decided: tunnel headers put on and taken off, a hop
 * counted, a SYN's segment size clamped, and questions turned into their answers in place. Each
 * makes the room with the kernel's helpers and has vr_build.h write the bytes; all give 0, or -1 if
 * the packet could not be changed.
 */
#ifndef VR_REWRITE_H
#define VR_REWRITE_H

#include "../core/vr_build6.h"
#include "../core/vr_build_tunnel.h"
#include "vr_maps.h"
#include "vr_skb.h"

/*
 * Room for the tunnel's headers behind the Ethernet header. The aggregate stays whole and keeps its
 * segment size (FIXED_GSO): the device, or the kernel before it, cuts it behind the headers, and
 * finishes both lengths and checksums. The flags are those of the kernel's own test_tc_tunnel.c,
 * but for the length of layer 2 where whole frames are carried: the inner MAC header begins so many
 * bytes before the inner IP header, and segmentation looks for an Ethernet header there
 * (skb_network_protocol in net/core/gso.c), so it is that header's alone, and VXLAN's own, a label
 * and a control word count to the outer transport's.
 * The packet keeps its flow hash: that of the inner flow is as good.
 */
#define VR_PUSH_FLAGS(l4, l2)                                                                      \
	(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L4_##l4 | BPF_F_ADJ_ROOM_ENCAP_L2(l2))

VR_INLINE uint64_t vr_push_flags(enum vr_encapsulation kind)
{
	switch (kind) {
	case VR_MPLSOUDP:
		return VR_PUSH_FLAGS(UDP, VR_LABEL_LEN);
	case VR_MPLSOGRE:
		return VR_PUSH_FLAGS(GRE, VR_LABEL_LEN);
	case VR_FRAME_MPLSOGRE:
	case VR_WORD_MPLSOGRE:
		return VR_PUSH_FLAGS(GRE, VR_ETH_LEN) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH;
	default:
		return VR_PUSH_FLAGS(UDP, VR_ETH_LEN) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH;
	}
}

/* The frame's beginning, with room for an outer IP header of so many bytes and what is behind it,
 * of what the flags say it is. */
VR_INLINE uint8_t *vr_room(struct __sk_buff *skb, uint32_t ip, enum vr_encapsulation kind,
			   uint64_t flags)
{
	const uint32_t bytes = ip + vr_wrap_length(kind);

	flags |= ip == VR_IP6_LEN ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4;
	if (bpf_skb_adjust_room(skb, (int)bytes, BPF_ADJ_ROOM_MAC, flags))
		return 0;
	return vr_head(skb, VR_ETH_LEN + bytes);
}

/* Which of the fabric's queues the packet leaves by. The kernel would take a flow's from the queue
 * that the packet came in by, which of a container is mostly one for all, or else parse the packet
 * for a hash (skb_tx_hash in net/core/dev.c); the tunnel's source port is a flow's already. The
 * number is one more than the queue's, and is taken modulo their count. A device that chooses by
 * CPU (XPS) goes on to. */
#define VR_QUEUES 32
VR_INLINE void vr_spread(struct __sk_buff *skb, uint16_t entropy)
{
	skb->queue_mapping = 1 + entropy % VR_QUEUES;
}

VR_INLINE int vr_do_push(struct __sk_buff *skb, const struct vr_verdict *v, uint32_t ip,
			 enum vr_encapsulation kind)
{
	uint8_t *head = vr_room(skb, ip, kind, vr_push_flags(kind));

	if (!head)
		return -1;
	vr_build_tunnel(head, v->nh, &v->push, ip, kind);
	vr_spread(skb, v->push.sport);
	return 0;
}

VR_INLINE int vr_do_tunnel(struct __sk_buff *skb, const struct vr_verdict *v)
{
#define VR_PUSH(ip, kind) vr_do_push(skb, v, ip, kind)
	return VR_BY_TUNNEL(v->nh, VR_PUSH);
#undef VR_PUSH
}

/* BPF_F_ADJ_ROOM_DECAP_L3_*, younger than our headers: what the packet is once it is decapsulated.
 */
#define VR_DECAP_L3_IPV4 (1ULL << 7)
#define VR_DECAP_L3_IPV6 (1ULL << 8)
#define VR_EINVAL 22

/* Kernels before 6.3 do not know these flags (EINVAL), and would take the inner packet for one of
 * the outer family. There, what makes IPv6 of IPv4 and the reverse does it: only the room of the
 * two headers and the packet's family change, and then the rest of the tunnel's headers goes. */
VR_INLINE int vr_strip_other(struct __sk_buff *skb, uint32_t bytes, int six)
{
	int more = six ? VR_IP6_LEN - VR_IP4_LEN : VR_IP4_LEN - VR_IP6_LEN;
	uint16_t type = six ? VR_ETHERTYPE_IP6 : VR_ETHERTYPE_IP4;

	if (bpf_skb_change_proto(skb, __builtin_bswap16(type), 0))
		return -1;
	return bpf_skb_adjust_room(skb, -((int)bytes + more), BPF_ADJ_ROOM_MAC,
				   BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* Takes so many bytes of outer headers, the Ethernet header left out, off a packet. */
VR_INLINE int vr_strip(struct __sk_buff *skb, uint32_t bytes, uint32_t outer, int six)
{
	uint64_t flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	int failed, other = six ? outer == VR_IP4_LEN : outer == VR_IP6_LEN;

	if (other)
		flags |= six ? VR_DECAP_L3_IPV6 : VR_DECAP_L3_IPV4;
	failed = bpf_skb_adjust_room(skb, -(int)bytes, BPF_ADJ_ROOM_MAC, flags);
	if (other && failed == -VR_EINVAL)
		return vr_strip_other(skb, bytes, six);
	return failed;
}

/* Takes the tunnel's headers off. What a NIC says about checksums was about the outer packet, so it
 * is forgotten (no NO_CSUM_RESET); an unfinished inner checksum stays unfinished.
 *
 * Linux 6.18 has no way to take the tunnel's mark (skb->encapsulation, SKB_GSO_UDP_TUNNEL or
 * SKB_GSO_GRE) off an aggregate. TCP does not mind. UDP does if a socket without UDP_GRO gets an
 * aggregate that crossed the fabric whole: the kernel cannot cut it, and counts it among the
 * socket's drops. */
VR_INLINE int vr_do_decap(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head;

	if (vr_strip(skb, v->pop, v->outer, v->version == 6))
		return -1;
	head = vr_head(skb, VR_ETH_LEN + VR_IP4_LEN);
	if (!head)
		return -1;
	vr_build_eth(head, VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
	vr_build_tos(head + VR_ETH_LEN, v->tos, v->version);
	return 0;
}

VR_INLINE int vr_do_encap(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head = vr_head(skb, VR_ETH_LEN);

	if (!head)
		return -1;
	vr_build_eth(head, VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
	return 0;
}

/* The packet shrinks to what is quoted, loses its aggregation, and gets the answer's headers. The
 * lower bound of change_tail is the checksum field of an unfinished TCP header: the quote has it.
 */
VR_INLINE int vr_do_too_big(struct __sk_buff *skb, const struct vr_vif *vif,
			    const struct vr_verdict *v)
{
	uint8_t *head;

	if (bpf_skb_change_tail(skb, VR_ETH_LEN + VR_QUOTE_LEN, 0))
		return -1;
	if (bpf_skb_adjust_room(skb, VR_IP4_LEN + VR_ICMP_LEN, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	head = vr_head(skb, VR_TOO_BIG_LEN);
	if (!head)
		return -1;
	vr_build_too_big(head, vif->mac, v->vrf->gateway_mac, v->vrf->gateway, v->mtu);
	return 0;
}

VR_INLINE int vr_do_too_big6(struct __sk_buff *skb, const struct vr_vif *vif,
			     const struct vr_verdict *v)
{
	uint8_t *head;

	if (bpf_skb_change_tail(skb, VR_ETH_LEN + VR_QUOTE6_LEN, 0))
		return -1;
	if (bpf_skb_adjust_room(skb, VR_IP6_LEN + VR_ICMP_LEN, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	head = vr_head(skb, VR_TOO_BIG6_LEN);
	if (!head)
		return -1;
	vr_build_too_big6(head, vif->mac, v->vrf->gateway_mac, v->vrf->gateway6, v->mtu);
	return 0;
}

/* The answer has one option, the question any number. */
VR_INLINE int vr_do_nd(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head;

	if (bpf_skb_change_tail(skb, VR_ADVERTISED_LEN, 0))
		return -1;
	head = vr_head(skb, VR_ADVERTISED_LEN);
	if (!head)
		return -1;
	vr_build_advertisement(head, v->vrf->gateway_mac);
	return 0;
}

VR_INLINE int vr_do_arp(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head = vr_head(skb, VR_ETH_LEN + VR_ARP_LEN);

	if (!head)
		return -1;
	vr_build_arp_reply(head, v->vrf->gateway_mac);
	return 0;
}

VR_INLINE int vr_do_echo6(struct __sk_buff *skb)
{
	uint8_t *head = vr_head(skb, VR_ETH_LEN + VR_IP6_LEN + VR_ICMP_LEN);

	if (!head)
		return -1;
	vr_build_echo6_reply(head);
	return 0;
}

VR_INLINE int vr_do_echo(struct __sk_buff *skb)
{
	uint8_t *head = vr_head(skb, VR_ETH_LEN + VR_IP4_LEN + VR_ICMP_LEN);

	if (!head)
		return -1;
	vr_build_echo_reply(head);
	return 0;
}

VR_INLINE int vr_do_hop(struct __sk_buff *skb, uint8_t version)
{
	uint8_t *head = vr_head(skb, VR_ETH_LEN + VR_IP4_LEN);

	if (!head)
		return -1;
	vr_build_hop(head + VR_ETH_LEN, version);
	return 0;
}

/*
 * The maximum segment size of a SYN whose TCP header is at an offset. The kernel's helper knows
 * what only the kernel does: an unfinished checksum (CHECKSUM_PARTIAL) covers the option when it is
 * finished, and must not be touched (inet_proto_csum_replace4 in net/core/utils.c).
 * A function of its own, which the verifier looks at once, with any arguments.
 */
__attribute__((noinline)) int vr_clamp_mss(struct __sk_buff *skb, uint32_t offset, uint32_t mss)
{
	struct vr_frame f;
	uint16_t from, to = __builtin_bswap16((uint16_t)mss);
	const uint8_t *tcp;
	uint32_t at;

	if (offset > VR_ETH_LEN + VR_IP6_LEN + VR_IP6_EXTENSION_BYTES)
		return -1;
	vr_frame_of(skb, offset + VR_TCP_MAX_LEN, &f);
	tcp = f.data + offset;
	at = vr_mss_find(tcp, f.end);
	tcp += at;
	VR_OPAQUE(tcp);
	if (at == 0 || tcp + 2 > f.end || vr_get16(tcp) <= mss)
		return 0;
	from = vr_raw16(tcp);
	if (bpf_l4_csum_replace(skb, offset + VR_TCP_CSUM, vr_mss_term(at, from),
				vr_mss_term(at, to), sizeof(to)))
		return -1;
	return (int)bpf_skb_store_bytes(skb, offset + at, &to, sizeof(to), 0);
}

VR_INLINE int vr_do_answer(struct __sk_buff *skb, const struct vr_vif *vif,
			   const struct vr_verdict *v)
{
	if (!v->vrf)
		return -1;
	switch (v->op) {
	case VR_OP_ARP:
		return vr_do_arp(skb, v);
	case VR_OP_ECHO:
		return v->version == 6 ? vr_do_echo6(skb) : vr_do_echo(skb);
	case VR_OP_ND:
		return vr_do_nd(skb, v);
	default:
		return v->version == 6 ? vr_do_too_big6(skb, vif, v) : vr_do_too_big(skb, vif, v);
	}
}

#endif
