/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What nearly all packets are, decided in few instructions: IPv4 without options and whole, with
 * TCP or UDP behind, in a frame that ends where the packet does; from the fabric, in MPLS over UDP
 * to a port's label. Words are read whole, and what may not be is gathered in one that has to be 0,
 * so that there is one branch. These functions only ever forward: a packet that they do not take is
 * decided as any other, from the beginning, so a drop has one place in the source. They give what
 * the general way gives; testdata/fuzz.c compares them, because programs that trace go without.
 *
 * A mover that has no room for them on its stack says VR_GENERAL_ONLY.
 */
#ifndef VR_PLAIN_H
#define VR_PLAIN_H

#include "vr_decide_way.h"
#include "vr_unwrap.h"

#if defined(VR_TRACING) && !defined(VR_GENERAL_ONLY)
#define VR_GENERAL_ONLY
#endif

/* An IPv4 header's words as they lie in memory, without the second. */
struct vr_plain {
	uint32_t first;
	uint32_t third;
	uint32_t source;
	uint32_t target;
};

#define VR_PLAIN_TOS(p) ((uint8_t)((p)->first >> 8))
#define VR_PLAIN_TTL(p) ((uint8_t)(p)->third)
#define VR_PLAIN_PROTO(p) ((uint8_t)((p)->third >> 8))

/* 0 if the 20 bytes at ip are the header of a packet of so many bytes that has no options, is no
 * fragment, and has the right checksum. */
VR_INLINE uint32_t vr_plain_ip(const uint8_t *ip, uint32_t bytes, struct vr_plain *p)
{
	uint32_t second = vr_raw32(ip + 4);
	uint64_t sum;

	p->first = vr_raw32(ip);
	p->third = vr_raw32(ip + 8);
	p->source = vr_raw32(ip + 12);
	p->target = vr_raw32(ip + 16);
	sum = (uint64_t)p->first + second + p->third + p->source + p->target;
	return (uint8_t)(p->first ^ 0x45) |
	       (__builtin_bswap16((uint16_t)(p->first >> 16)) ^ bytes) |
	       (second & ((uint32_t)__builtin_bswap16(VR_IP4_FRAGMENT) << 16)) |
	       (vr_csum_fold(sum) ^ 0xffffu);
}

/* Whether so many bytes, of which 8 are there, begin with a TCP or UDP header that vr_parse_l4
 * finds nothing wrong with, and that asks for nothing: a SYN may have to be clamped. */
VR_INLINE int vr_plain_l4(const uint8_t *l4, const uint8_t *end, uint32_t bytes, uint8_t proto)
{
	uint16_t port = vr_get16(l4 + 2);
	uint32_t stated;

	if (__builtin_expect(proto == VR_PROTO_UDP, 1))
		return port != VR_PORT_MPLSOUDP && port != VR_PORT_VXLAN &&
		       vr_get16(l4 + 4) - (uint32_t)VR_UDP_LEN <= bytes - VR_UDP_LEN;
	if (proto != VR_PROTO_TCP || bytes < VR_TCP_LEN || l4 + VR_TCP_LEN > end || l4[13] & 2)
		return 0;
	stated = (uint32_t)(l4[12] >> 4) * 4;
	return stated - VR_TCP_LEN <= bytes - VR_TCP_LEN;
}

/* Whether the outer header is one that vr_outer_checked lets pass and vr_ecn_decapsulate has no use
 * for, of a packet to the node. All addresses of class E are left to those. */
VR_INLINE int vr_plain_outer(const struct vr_node *node, const struct vr_plain *p)
{
	uint32_t first = p->source & 0xff;

	return p->target == __builtin_bswap32(node->address) && p->target != 0 &&
	       p->source != p->target && first - 1 < 223 && first != 127 && !(VR_PLAIN_TOS(p) & 1);
}

#define VR_PLAIN_POP (VR_IP4_LEN + VR_MPLSOUDP_LEN)
#define VR_PLAIN_INNER (VR_ETH_LEN + VR_PLAIN_POP)

/* The port of a label if a packet of so many bytes fits it. */
VR_INLINE const struct vr_nh *vr_plain_port(const struct vr_tables *t, uint32_t entry,
					    uint32_t bytes)
{
	const struct vr_nh *nh;

	if (!(entry >> 8 & 1) || !(entry & 0xff))
		return 0;
	nh = vr_label_lookup(t, entry >> 12);
	if (!nh || nh->type != VR_NH_ENCAP || !(VR_READ_ONCE(nh->dmac) & VR_MAC_KNOWN) ||
	    bytes > VR_READ_ONCE(nh->mtu))
		return 0;
	return nh;
}

/* As vr_decide_fabric. 0: it is not taken, and the verdict is as it was. */
VR_INLINE int vr_plain_fabric(const struct vr_tables *t, const struct vr_node *node,
			      const struct vr_frame *f, struct vr_verdict *v)
{
	const uint8_t *data = f->data, *udp = data + VR_ETH_LEN + VR_IP4_LEN;
	const uint8_t *l4 = data + VR_PLAIN_INNER + VR_IP4_LEN;
	uint32_t bytes = f->length - VR_ETH_LEN, bad;
	struct vr_plain outer, inner;

	if (l4 + VR_UDP_LEN > f->end || f->gso_size)
		return 0;
	if (vr_raw16(data + 12) != __builtin_bswap16(VR_ETHERTYPE_IP4) ||
	    vr_raw16(udp + 2) != __builtin_bswap16(VR_PORT_MPLSOUDP))
		return 0;
	bad = vr_plain_ip(data + VR_ETH_LEN, bytes, &outer);
	bad |= vr_plain_ip(data + VR_PLAIN_INNER, bytes - VR_PLAIN_POP, &inner);
	bad |= vr_get16(udp + 4) ^ (bytes - VR_IP4_LEN);
	bad |= VR_PLAIN_PROTO(&outer) ^ VR_PROTO_UDP;
	if (bad || vr_get_dmac(data) != vr_mac_bits(node->mac) || !vr_plain_outer(node, &outer) ||
	    !vr_plain_l4(l4, f->end, bytes - VR_PLAIN_POP - VR_IP4_LEN, VR_PLAIN_PROTO(&inner)))
		return 0;
	v->nh = vr_plain_port(t, vr_get32(udp + VR_UDP_LEN), bytes - VR_PLAIN_POP);
	if (!v->nh)
		return 0;
	v->op = VR_OP_DECAP;
	v->version = 4;
	v->outer = VR_IP4_LEN;
	v->pop = VR_PLAIN_POP;
	v->tos = VR_PLAIN_TOS(&inner);
	v->plain = VR_PLAIN_PROTO(&inner);
	return 1;
}

/* The same of what a vif sent to its gateway's MAC, with its own address as source. */
VR_INLINE int vr_plain_vif(const struct vr_tables *t, const struct vr_frame *f,
			   const struct vr_vif *vif, const struct vr_vrf *vrf, struct vr_verdict *v)
{
	const uint8_t *data = f->data, *l4 = data + VR_ETH_LEN + VR_IP4_LEN;
	uint32_t bytes = f->length - VR_ETH_LEN, ports;
	struct vr_ip h = {.version = 4, .header = VR_IP4_LEN};
	struct vr_plain p;

	if (l4 + VR_UDP_LEN > f->end || f->gso_size ||
	    vr_raw16(data + 12) != __builtin_bswap16(VR_ETHERTYPE_IP4))
		return 0;
	if (vr_plain_ip(data + VR_ETH_LEN, bytes, &p) ||
	    vr_get_dmac(data) != vr_mac_bits(vrf->gateway_mac) || data[0] & 1)
		return 0;
	if (p.source != __builtin_bswap32(vif->address) || VR_PLAIN_TTL(&p) <= 1 ||
	    (uint8_t)p.target >= 0xe0 ||
	    !vr_plain_l4(l4, f->end, bytes - VR_IP4_LEN, VR_PLAIN_PROTO(&p)))
		return 0;
	ports = vr_get32(l4);
	h.total = bytes;
	h.saddr = vr_addr_of(__builtin_bswap32(p.source));
	h.daddr = vr_addr_of(__builtin_bswap32(p.target));
	h.sport = (uint16_t)(ports >> 16);
	h.dport = (uint16_t)ports;
	h.tos = VR_PLAIN_TOS(&p);
	h.ttl = VR_PLAIN_TTL(&p);
	h.proto = VR_PLAIN_PROTO(&p);
	h.df = (vr_get16(data + VR_ETH_LEN + 6) & VR_IP4_DF) != 0;
	h.l4 = h.proto == VR_PROTO_TCP ? VR_TCP_LEN : VR_UDP_LEN;
	v->version = 4;
	v->plain = h.proto;
	vr_decide_route(t, f, &h, vrf, v);
	return 1;
}

#endif
