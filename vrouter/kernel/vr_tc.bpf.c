//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel mover at tc: one program at the ingress of every vif's host side, one at the ingress
 * of the fabric. They ask vr_decide.h what to do, and do it with the kernel's helpers.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
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
	__uint(max_entries, VR_MAX_VRFS);
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

/* The loader makes it as large as the configuration's limit of routes asks for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VR_DEFAULT_BLOCKS);
	__type(key, __u32);
	__type(value, struct vr_block);
} vr_blocks SEC(".maps");

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
VR_TABLE(vr_label_at, uint64_t, vr_labels)
VR_TABLE(vr_vni_at, uint64_t, vr_vnis)
VR_TABLE(vr_block_at, struct vr_block, vr_blocks)
#undef VR_TABLE

#include "../core/vr_lookup.h"

/* The look-up of routes is a global function: the verifier looks at it once, for all arguments, and
 * not once for every way through the program that leads to it. Those take plain numbers only. */
__attribute__((noinline)) uint64_t vr_route_entry(uint32_t root, uint64_t hi, uint64_t lo)
{
	return vr_route_find(0, root, hi, lo);
}

VR_INLINE uint64_t vr_route_lookup(const struct vr_tables *t, uint32_t root, struct vr_addr a)
{
	(void)t;
	return vr_route_entry(root, a.hi, a.lo);
}

#include "../core/vr_decide.h"
#include "../core/vr_build6.h"

#include "vr_fabric_xdp.h"

/* What a hook received, so that it is counted alike on its way in and on its way out. */
struct vr_seen {
	uint32_t segments;
	uint32_t bytes;
};

#ifdef VR_TRACING
#define VR_LIVE 0 /* a trace changes no counter and sends nothing */
#else
#define VR_LIVE 1
#endif

VR_INLINE void vr_add(struct vr_count *c, const struct vr_seen *s)
{
	if (!VR_LIVE)
		return;
	c->packets++;
	c->segments += s->segments;
	c->bytes += s->bytes;
}

VR_INLINE struct vr_totals *vr_account(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&vr_total, &zero);
}

/* A packet made by an untrusted sender may have no segment count, only the size of one. */
VR_INLINE struct vr_seen vr_see(const struct __sk_buff *skb)
{
	struct vr_seen s = {.segments = skb->gso_segs, .bytes = skb->len};

	if (s.segments == 0 && skb->gso_size)
		s.segments = (skb->len + skb->gso_size - 1) / skb->gso_size;
	if (s.segments == 0)
		s.segments = 1;
	return s;
}

/* Loaded anew each time: what clang remembers of an earlier load it treats as the 32-bit number
 * that the context declares, and cuts the verifier's pointer down to it. */
#define VR_SKB_POINTER(skb, field) ((uint8_t *)(long)VR_READ_ONCE((skb)->field))

VR_INLINE void vr_frame_load(const struct __sk_buff *skb, struct vr_frame *f)
{
	f->data = VR_SKB_POINTER(skb, data);
	f->end = VR_SKB_POINTER(skb, data_end);
	f->length = skb->len;
	f->gso_size = skb->gso_size;
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
 * more where it has options or extensions, or asks for a neighbour. What is not seen is not
 * checked. Global, as vr_route_entry is: the verifier looks at its ways once. */
__attribute__((noinline)) int vr_pull_ip(struct __sk_buff *skb, uint32_t offset)
{
	const uint8_t *ip;
	struct vr_frame f;
	uint32_t more = 0;

	if (offset > VR_ETH_LEN + VR_TEMPLATE_LEN)
		return -1;
	vr_frame_of(skb, offset + VR_IP4_LEN + VR_TCP_LEN, &f);
	ip = f.data + offset;
	if (ip + 7 > f.end)
		return 0;
	if (ip[0] > 0x45 && ip[0] <= 0x4f)
		more = VR_IP4_OPTIONS + VR_IP4_LEN + VR_TCP_LEN;
	else if (ip[0] >> 4 == 6)
		more = ip[6] == VR_PROTO_TCP || ip[6] == VR_PROTO_UDP
			   ? VR_IP6_LEN + VR_TCP_LEN
			   : VR_IP6_LEN + VR_IP6_EXTENSION_BYTES + VR_ND_SOLICITATION_LEN;
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

/* Counts a packet as lost while it was being rewritten. */
VR_INLINE int vr_lose(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason)
{
	VR_STEP(loss, reason, 0);
	if (reason < VR_DROP_COUNT)
		vr_add(&total->drops[reason], seen);
	return TC_ACT_SHOT;
}

/* The same, and it is a port's loss. */
VR_INLINE int vr_lose_of(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason,
			 uint32_t vif, int from)
{
	struct vr_vif_drops *d = bpf_map_lookup_elem(&vr_vif_losses, &vif);
	struct vr_count *c;

	if (VR_LIVE && d && reason < VR_DROP_COUNT) {
		c = from ? &d->from[reason] : &d->to[reason];
		__sync_fetch_and_add(&c->packets, 1);
		__sync_fetch_and_add(&c->segments, seen->segments);
		__sync_fetch_and_add(&c->bytes, seen->bytes);
	}
	return vr_lose(total, seen, reason);
}

/* Lost on its way from the fabric: a port's loss if it was known whose packet it was. */
VR_INLINE int vr_lose_to(struct vr_totals *total, const struct vr_seen *seen, uint32_t reason,
			 const struct vr_nh *nh)
{
	if (nh && nh->vif)
		return vr_lose_of(total, seen, reason, nh->vif, 0);
	return vr_lose(total, seen, reason);
}

VR_INLINE int vr_redirect(uint32_t ifindex)
{
	VR_STEP(leave, ifindex, 0);
	return VR_LIVE ? bpf_redirect(ifindex, 0) : TC_ACT_REDIRECT;
}

/* Into the container, or out of a device. The packet was addressed to the gateway's MAC, so the
 * kernel may have marked it as somebody else's; the container's stack would ignore that. */
VR_INLINE int vr_leave(struct __sk_buff *skb, uint32_t ifindex, int peer)
{
	if (!peer)
		return vr_redirect(ifindex);
	VR_STEP(leave, ifindex, 1);
	if (skb->pkt_type != 0)
		bpf_skb_change_type(skb, 0 /* PACKET_HOST */);
	return VR_LIVE ? bpf_redirect_peer(ifindex, 0) : TC_ACT_REDIRECT;
}

VR_INLINE int vr_deliver(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			 uint32_t vif, uint32_t ifindex, int peer)
{
	struct vr_vif_count *c = bpf_map_lookup_elem(&vr_vif_counts, &vif);

	vr_add(&total->forwarded, seen);
	if (c)
		vr_add(&c->tx, seen);
	return vr_leave(skb, ifindex, peer);
}

VR_INLINE int vr_forward(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			 const struct vr_nh *nh)
{
	if (!(nh->flags & VR_NH_FABRIC))
		return vr_deliver(skb, total, seen, nh->vif, nh->ifindex, nh->flags & VR_NH_PEER);
	vr_add(&total->forwarded, seen);
	return vr_redirect(nh->ifindex);
}

VR_INLINE int vr_answer(struct __sk_buff *skb, struct vr_totals *total, const struct vr_seen *seen,
			const struct vr_vif *vif)
{
	vr_add(&total->answered, seen);
	return vr_leave(skb, vif->ifindex, vif->flags & VR_VIF_PEER);
}

/*
 * Room for the tunnel's headers behind the Ethernet header. The aggregate stays whole and keeps its
 * segment size (FIXED_GSO): the device, or the kernel before it, cuts it behind the headers, and
 * finishes both lengths and checksums. The flags are those of the kernel's own test_tc_tunnel.c,
 * but for the length of VXLAN's layer 2: the inner MAC header begins so many bytes before the inner
 * IP header, and segmentation looks for an Ethernet header there (skb_network_protocol in
 * net/core/gso.c), so it is that header's alone, and VXLAN's own counts to the outer transport's.
 * The packet keeps its flow hash: that of the inner flow is as good.
 */
#define VR_PUSH_FLAGS(l4, l2)                                                                      \
	(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_##l4 |  \
	 BPF_F_ADJ_ROOM_ENCAP_L2(l2))
#define VR_MPLSOUDP_FLAGS VR_PUSH_FLAGS(UDP, VR_LABEL_LEN)
#define VR_MPLSOGRE_FLAGS VR_PUSH_FLAGS(GRE, VR_LABEL_LEN)
#define VR_VXLAN_FLAGS (VR_PUSH_FLAGS(UDP, VR_ETH_LEN) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH)

/* The frame's beginning, with room for an outer IPv4 header and so many bytes behind it. */
VR_INLINE uint8_t *vr_room(struct __sk_buff *skb, uint32_t wrap, uint64_t flags)
{
	if (bpf_skb_adjust_room(skb, (int)(VR_IP4_LEN + wrap), BPF_ADJ_ROOM_MAC, flags))
		return 0;
	return vr_head(skb, VR_ETH_LEN + VR_IP4_LEN + wrap);
}

VR_INLINE int vr_do_mplsoudp(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head = vr_room(skb, VR_MPLSOUDP_LEN, VR_MPLSOUDP_FLAGS);

	if (!head)
		return -1;
	vr_build_mplsoudp(head, v->nh, &v->push);
	return 0;
}

VR_INLINE int vr_do_mplsogre(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head = vr_room(skb, VR_MPLSOGRE_LEN, VR_MPLSOGRE_FLAGS);

	if (!head)
		return -1;
	vr_build_mplsogre(head, v->nh, &v->push);
	return 0;
}

VR_INLINE int vr_do_vxlan(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint8_t *head = vr_room(skb, VR_VXLAN_ALL_LEN, VR_VXLAN_FLAGS);

	if (!head)
		return -1;
	vr_build_vxlan(head, v->nh, &v->push);
	return 0;
}

VR_INLINE int vr_do_tunnel(struct __sk_buff *skb, const struct vr_verdict *v)
{
	switch (v->nh->encapsulation) {
	case VR_MPLSOUDP:
		return vr_do_mplsoudp(skb, v);
	case VR_MPLSOGRE:
		return vr_do_mplsogre(skb, v);
	case VR_VXLAN:
		return vr_do_vxlan(skb, v);
	default:
		return -1;
	}
}

#define VR_DECAP_L3_IPV6 (1ULL << 8) /* BPF_F_ADJ_ROOM_DECAP_L3_IPV6, younger than our headers */

/* Takes the tunnel's headers off. What a NIC says about checksums was about the outer packet, so it
 * is forgotten (no NO_CSUM_RESET); an unfinished inner checksum stays unfinished.
 *
 * Linux 6.18 has no way to take the tunnel's mark (skb->encapsulation, SKB_GSO_UDP_TUNNEL or
 * SKB_GSO_GRE) off an aggregate. TCP does not mind. UDP does if a socket without UDP_GRO gets an
 * aggregate that crossed the fabric whole: the kernel cannot cut it, and counts it among the
 * socket's drops. */
VR_INLINE int vr_do_decap(struct __sk_buff *skb, const struct vr_verdict *v)
{
	uint64_t flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	uint8_t *head;

	/* With IPv6 inside IPv4, the kernel has to be told what the packet is now: Linux 6.3. */
	if (v->version == 6)
		flags |= VR_DECAP_L3_IPV6;
	if (bpf_skb_adjust_room(skb, -(int)v->pop, BPF_ADJ_ROOM_MAC, flags))
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
	vr_build_too_big(head, vif->mac, v->vrf->gateway_mac, v->vrf->gateway, vif->address,
			 v->mtu);
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
	vr_build_too_big6(head, vif->mac, v->vrf->gateway_mac, v->vrf->gateway6, vif->address6,
			  v->mtu);
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

/* From a container. */
VR_INLINE int vr_from_vif(struct __sk_buff *skb, struct vr_totals *total,
			  const struct vr_seen *seen, const struct vr_vif *vif, uint32_t index,
			  struct vr_vif_count *c)
{
	struct vr_verdict v = {};
	struct vr_frame f;
	int failed;

	vr_ip_frame(skb, VR_ETH_LEN, &f);
	vr_decide_vif(0, &f, vif, &v);
	VR_STEP(verdict, v.op, v.drop);
	if (v.op == VR_OP_DROP)
		return vr_lose_of(total, seen, v.drop, index, 1);
	if (v.op == VR_OP_ENCAP || v.op == VR_OP_TUNNEL) {
		failed = v.mss ? vr_clamp_mss(skb, VR_ETH_LEN + v.header, v.mss) : 0;
		if (!failed)
			failed = vr_do_hop(skb, v.version);
		if (!failed)
			failed =
			    v.op == VR_OP_TUNNEL ? vr_do_tunnel(skb, &v) : vr_do_encap(skb, &v);
		if (failed)
			return vr_lose_of(total, seen, VR_DROP_rewrite_failed, index, 1);
		vr_add(&c->forwarded, seen);
		return vr_forward(skb, total, seen, v.nh);
	}
	if (vr_do_answer(skb, vif, &v))
		return vr_lose_of(total, seen, VR_DROP_rewrite_failed, index, 1);
	vr_add(&c->answered, seen);
	return vr_answer(skb, total, seen, vif);
}

VR_INLINE int vr_on_vif(struct __sk_buff *skb)
{
	struct vr_totals *total = vr_account();
	struct vr_seen seen = vr_see(skb);
	uint32_t ifindex = skb->ifindex;
	uint32_t *index = bpf_map_lookup_elem(&vr_ports, &ifindex);
	const struct vr_vif *vif = index ? vr_vif_at(0, *index) : 0;
	struct vr_vif_count *c = index ? bpf_map_lookup_elem(&vr_vif_counts, index) : 0;

	if (!total)
		return TC_ACT_SHOT;
	vr_add(&total->received_vif, &seen);
	if (!vif || !c)
		return vr_lose(total, &seen, VR_DROP_unknown_vif);
	VR_STEP(vif, *index, ifindex);
	vr_add(&c->rx, &seen);
	if (skb->vlan_present)
		return vr_lose_of(total, &seen, VR_DROP_vlan, *index, 1);
	return vr_from_vif(skb, total, &seen, vif, *index, c);
}

/* How many bytes a tunnel's packet of this kind has behind its outer Ethernet header, 0 if it is
 * none. The frame shows its first 20 bytes behind an IPv4 header without options. */
VR_INLINE uint32_t vr_wrapped(const struct vr_frame *f)
{
	const uint8_t *ip = f->data + VR_ETH_LEN;

	if (ip + VR_IP4_LEN + VR_UDP_LEN > f->end || ip[0] != 0x45 ||
	    !vr_is_tunnel(ip[9], ip + VR_IP4_LEN))
		return 0;
	if (ip[9] == VR_PROTO_GRE)
		return VR_IP4_LEN + VR_MPLSOGRE_LEN;
	if (vr_get16(ip + VR_IP4_LEN + 2) == VR_PORT_VXLAN)
		return VR_IP4_LEN + VR_VXLAN_ALL_LEN;
	return VR_IP4_LEN + VR_MPLSOUDP_LEN;
}

/* Packets are looked at no further than their TCP header, without options: a byte of payload more
 * in the linear part, and the container's TCP cannot join segments (skb_try_coalesce in
 * net/core/skbuff.c); that cost the receiver a third of its CPU time per byte. So a tunnel's packet
 * is pulled in as far as its own kind needs, not as the longest kind does. */
VR_INLINE void vr_fabric_frame(struct __sk_buff *skb, struct vr_frame *f)
{
	uint32_t wrapped;

	vr_ip_frame(skb, VR_ETH_LEN, f);
	wrapped = vr_wrapped(f);
	if (wrapped)
		vr_ip_frame(skb, VR_ETH_LEN + wrapped, f);
}

/* What is not ours goes on to whoever is next at this hook, and to the host's stack. */
VR_INLINE int vr_pass(struct vr_totals *total, const struct vr_seen *seen)
{
	VR_STEP(pass, 0, 0);
	vr_add(&total->passed, seen);
	return TC_ACT_UNSPEC;
}

/* XDP does not see a VLAN tag that the NIC took off; the packet is none of the fabric's then. */
VR_INLINE int vr_from_xdp(struct __sk_buff *skb, struct vr_totals *total,
			  const struct vr_seen *seen, const struct vr_handed *h)
{
	if (skb->vlan_present)
		return vr_lose_of(total, seen, VR_DROP_vlan, h->vif, 0);
	return vr_deliver(skb, total, seen, h->vif, h->ifindex, h->flags & VR_NH_PEER);
}

VR_INLINE int vr_on_fabric(struct __sk_buff *skb)
{
	struct vr_totals *total = vr_account();
	struct vr_seen seen = vr_see(skb);
	struct vr_verdict v = {};
	struct vr_handed handed;
	struct vr_frame f;
	uint32_t zero = 0;
	struct vr_node *node = bpf_map_lookup_elem(&vr_nodes, &zero);
	int failed;

	if (!total || !node)
		return TC_ACT_UNSPEC;
	vr_add(&total->received_fabric, &seen);
	if (vr_handed_of(skb, &handed))
		return vr_from_xdp(skb, total, &seen, &handed);
	if (skb->vlan_present)
		return vr_pass(total, &seen);
	vr_fabric_frame(skb, &f);
	vr_decide_fabric(0, node, &f, &v);
	VR_STEP(verdict, v.op, v.drop);
	if (v.op == VR_OP_PASS)
		return vr_pass(total, &seen);
	if (v.op != VR_OP_ENCAP && v.op != VR_OP_DECAP)
		return vr_lose_to(total, &seen, v.op == VR_OP_DROP ? v.drop : VR_DROP_bad_nexthop,
				  v.nh);
	failed = v.op == VR_OP_DECAP ? vr_do_decap(skb, &v) : vr_do_encap(skb, &v);
	return failed ? vr_lose_to(total, &seen, VR_DROP_rewrite_failed, v.nh)
		      : vr_forward(skb, total, &seen, v.nh);
}

#ifndef VR_TRACING
SEC("tc")
int vr_vif_ingress(struct __sk_buff *skb)
{
	return vr_on_vif(skb);
}

SEC("tc")
int vr_fabric_ingress(struct __sk_buff *skb)
{
	return vr_on_fabric(skb);
}
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
