/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow mode: which flow a packet belongs to, whether a policy lets a new one begin, and how far one
 * has come. Pure, as vr_decide.h; the mover has the table.
 *
 * A flow is seen from its vif: local is the container. So both directions have one key.
 */
#ifndef VR_FLOW_H
#define VR_FLOW_H

#include "vr_ip6.h"

#define VR_MAX_POLICIES 256
#define VR_MAX_RULES 64

/* Directions: from the container, to it. */
#define VR_FLOW_OUT 0
#define VR_FLOW_IN 1

#define VR_FAMILY_IP4 4
#define VR_FAMILY_IP6 6
#define VR_FAMILY_FRAGMENT 128 /* with the family: not a flow, but the fragments of one packet, */
#define VR_FAMILY_IN 64	       /* to the container */

#define VR_TCP_FIN 1
#define VR_TCP_SYN 2
#define VR_TCP_RST 4
#define VR_TCP_ACK 16

/* Without a bit between its fields, because a hash table compares bytes. */
struct vr_flow_key {
	struct vr_addr local;
	struct vr_addr remote;
	uint16_t local_port;
	uint16_t remote_port;
	uint16_t vif;
	uint8_t protocol;
	uint8_t family;
};
_Static_assert(sizeof(struct vr_flow_key) == 40, "vr_flow_key is shared with Go");

/* What has been seen of a flow. Marks are only ever added, so that CPUs that see its two directions
 * need no lock. */
#define VR_FLOW_ANSWERED 1   /* a packet against the opener's direction */
#define VR_FLOW_CONFIRMED 2  /* TCP: then one more of the opener's: its handshake is over */
#define VR_FLOW_FIN_OPENER 4 /* TCP: the opener has sent all */
#define VR_FLOW_FIN_ANSWER 8 /* TCP: the other side has */
#define VR_FLOW_RESET 16     /* TCP: it is broken off */

/* A flow's record. packets and bytes are by direction; they come last, so that in the table the
 * others share a cache line with the key. */
struct vr_flow {
	uint64_t seen; /* nanoseconds of CLOCK_MONOTONIC, to a tick: the last packet */
	uint32_t marks;
	uint16_t vrf;
	uint8_t opener; /* the direction of its first packet */
	uint8_t steps;	/* the table's: how far from its home the entry lies */
	uint64_t packets[2];
	uint64_t bytes[2];
};
_Static_assert(sizeof(struct vr_flow) == 48, "vr_flow is shared with Go");

/* What a rule is about but for addresses and ports, in one word. */
#define VR_RULE_WHAT(direction, family, protocol)                                                  \
	((uint32_t)(direction) << 16 | (uint32_t)(family) << 8 | (uint32_t)(protocol))

/* A rule of a policy. ports are those that the first packet of a flow is sent to. */
struct vr_rule {
	struct vr_addr remote;
	struct vr_addr mask;
	uint16_t first_port;
	uint16_t last_port;
	uint32_t what;
	uint32_t what_mask;
	uint32_t allow;
};
_Static_assert(sizeof(struct vr_rule) == 48, "vr_rule is shared with Go");

/* A policy. Nothing in one that a vif names ever changes: a change makes a new one. */
struct vr_policy {
	uint64_t id; /* FNV-1a of its name */
	uint32_t count;
	uint32_t otherwise; /* what no rule is about: 1 is allowed */
	struct vr_rule rules[VR_MAX_RULES];
};
_Static_assert(sizeof(struct vr_policy) == 16 + VR_MAX_RULES * 48, "vr_policy is shared with Go");

/* A packet, as flow mode sees it. */
struct vr_flow_packet {
	struct vr_flow_key key;
	uint32_t quote; /* an ICMP error: where in it the packet that it is about stands; 0: none */
	uint32_t id;	/* of fragments */
	uint8_t first;	/* the first fragment of several */
	uint8_t later;	/* one behind it, which has no ports */
	uint8_t flags;	/* TCP's */
	uint8_t reply;	/* to an echo: it never begins a flow */
};

/* In which bits a flow that begins so is not what a rule is about, 0 if it is. Without a branch,
 * because a verifier would follow both sides of one in every rule. */
VR_INLINE uint64_t vr_rule_differs(const struct vr_rule *r, const struct vr_flow_key *k,
				   uint32_t what, uint16_t port)
{
	uint64_t room = (uint16_t)(r->last_port - r->first_port);
	uint64_t outside = (room - (uint16_t)(port - r->first_port)) >> 63;

	return ((k->remote.hi ^ r->remote.hi) & r->mask.hi) |
	       ((k->remote.lo ^ r->remote.lo) & r->mask.lo) | ((what ^ r->what) & r->what_mask) |
	       outside;
}

/* Whether a flow may begin: the first rule that is about it says so, of VR_MAX_RULES at most. */
VR_INLINE int vr_policy_allows(const struct vr_policy *p, const struct vr_flow_key *k,
			       uint32_t direction)
{
	uint16_t port = direction == VR_FLOW_OUT ? k->remote_port : k->local_port;
	uint32_t what = VR_RULE_WHAT(direction, k->family, k->protocol);

#pragma nounroll
	for (uint32_t i = 0; i < VR_MAX_RULES && i < p->count; i++)
		if (!vr_rule_differs(&p->rules[i], k, what, port))
			return p->rules[i].allow != 0;
	return p->otherwise != 0;
}

/* The marks that a packet adds to those that its flow has: RFC 9293, section 3.3.2, as far as it
 * takes to tell how long a silent connection may still be of use. */
VR_INLINE uint32_t vr_flow_marks(uint32_t marks, int opener, uint8_t protocol, uint8_t flags)
{
	uint32_t add = opener ? 0 : VR_FLOW_ANSWERED;

	if (protocol != VR_PROTO_TCP)
		return add;
	if (opener && marks & VR_FLOW_ANSWERED && !(flags & VR_TCP_SYN))
		add |= VR_FLOW_CONFIRMED;
	if (flags & VR_TCP_FIN)
		add |= opener ? VR_FLOW_FIN_OPENER : VR_FLOW_FIN_ANSWER;
	if (flags & VR_TCP_RST)
		add |= VR_FLOW_RESET;
	return add;
}

enum vr_flow_state {
	VR_FLOW_OPENING,
	VR_FLOW_ESTABLISHED,
	VR_FLOW_CLOSING,
};

VR_INLINE enum vr_flow_state vr_flow_state(uint8_t protocol, uint32_t marks)
{
	const uint32_t both = VR_FLOW_FIN_OPENER | VR_FLOW_FIN_ANSWER;

	if (marks & VR_FLOW_RESET || (marks & both) == both)
		return VR_FLOW_CLOSING;
	if (marks & (protocol == VR_PROTO_TCP ? VR_FLOW_CONFIRMED : VR_FLOW_ANSWERED))
		return VR_FLOW_ESTABLISHED;
	return VR_FLOW_OPENING;
}

/* Whether a packet begins a connection anew with the addresses and ports of one that is over
 * (RFC 9293, section 3.6.1): the policy is asked again. */
VR_INLINE int vr_flow_again(uint8_t protocol, uint32_t marks, uint8_t flags)
{
	return protocol == VR_PROTO_TCP && vr_flow_state(protocol, marks) == VR_FLOW_CLOSING &&
	       (flags & (VR_TCP_SYN | VR_TCP_ACK)) == VR_TCP_SYN;
}

VR_INLINE void vr_flow_ports(struct vr_flow_key *k, uint32_t direction, uint16_t from, uint16_t to)
{
	k->local_port = direction == VR_FLOW_OUT ? from : to;
	k->remote_port = direction == VR_FLOW_OUT ? to : from;
}

/* An echo has its identifier as the asking side's port, and 0 as the other's. An error is about
 * another packet. What else there is has its type and code, and is never answered. */
VR_INLINE enum vr_drop vr_flow_icmp(const uint8_t *l4, const uint8_t *end, uint32_t direction,
				    uint32_t bytes, struct vr_flow_packet *p)
{
	int six = p->key.protocol == VR_PROTO_ICMP6;

	if (bytes < VR_ICMP_LEN || l4 + VR_ICMP_LEN > end)
		return VR_DROP_truncated;
	if (vr_icmp_quotes(p->key.protocol, l4[0]))
		p->quote = VR_ICMP_LEN;
	else if (l4[0] == (six ? 128 : 8))
		vr_flow_ports(&p->key, direction, vr_get16(l4 + 4), 0);
	else if (l4[0] == (six ? 129 : 0))
		vr_flow_ports(&p->key, direction, 0, vr_get16(l4 + 4));
	else
		vr_flow_ports(&p->key, direction, vr_get16(l4), vr_get16(l4));
	p->reply = l4[0] == (six ? 129 : 0);
	return VR_DROP_NONE;
}

/* The ports behind the IP header, or what stands for them, where so many bytes are the packet's. A
 * quoted packet may end before its TCP flags do (RFC 792: 64 bits of its data). */
VR_INLINE enum vr_drop vr_flow_l4(const uint8_t *l4, const uint8_t *end, uint32_t direction,
				  uint32_t bytes, struct vr_flow_packet *p)
{
	VR_OPAQUE(l4);
	if (p->key.protocol == VR_PROTO_ICMP || p->key.protocol == VR_PROTO_ICMP6)
		return vr_flow_icmp(l4, end, direction, bytes, p);
	if (p->key.protocol != VR_PROTO_TCP && p->key.protocol != VR_PROTO_UDP)
		return VR_DROP_NONE;
	if (bytes < VR_UDP_LEN || l4 + VR_UDP_LEN > end)
		return VR_DROP_truncated;
	vr_flow_ports(&p->key, direction, vr_get16(l4), vr_get16(l4 + 2));
	if (p->key.protocol == VR_PROTO_TCP && bytes >= 14 && l4 + 14 <= end)
		p->flags = l4[13];
	return VR_DROP_NONE;
}

VR_INLINE void vr_flow_ends(struct vr_flow_key *k, uint32_t direction, struct vr_addr from,
			    struct vr_addr to)
{
	k->local = direction == VR_FLOW_OUT ? from : to;
	k->remote = direction == VR_FLOW_OUT ? to : from;
}

/* Both read a header, and say how long it is. */
VR_INLINE enum vr_drop vr_flow_ip4(const uint8_t *ip, const uint8_t *end, uint32_t direction,
				   struct vr_flow_packet *p, uint32_t *header)
{
	uint16_t frag;

	if (ip + VR_IP4_LEN > end)
		return VR_DROP_truncated;
	*header = (uint32_t)(ip[0] & 0xf) * 4;
	if (*header < VR_IP4_LEN)
		return VR_DROP_bad_header;
	vr_flow_ends(&p->key, direction, vr_addr_of(vr_get32(ip + 12)),
		     vr_addr_of(vr_get32(ip + 16)));
	p->key.protocol = ip[9];
	p->key.family = VR_FAMILY_IP4;
	frag = vr_get16(ip + 6);
	p->id = vr_get16(ip + 4);
	p->later = (frag & VR_IP4_OFFSET) != 0;
	p->first = !p->later && frag & VR_IP4_FRAGMENT;
	return VR_DROP_NONE;
}

VR_INLINE enum vr_drop vr_flow_ip6(const uint8_t *ip, const uint8_t *end, uint32_t direction,
				   uint32_t bytes, struct vr_flow_packet *p, uint32_t *header)
{
	struct vr_ip h = {};
	enum vr_drop bad;

	if (ip + VR_IP6_LEN > end)
		return VR_DROP_truncated;
	bad = vr_parse_extensions(ip, end, bytes, &h);
	if (bad)
		return bad;
	*header = h.header;
	vr_flow_ends(&p->key, direction, vr_get_addr(ip + 8), vr_get_addr(ip + 24));
	p->key.protocol = h.proto;
	p->key.family = VR_FAMILY_IP6;
	p->id = h.id;
	p->later = h.later;
	p->first = !h.later && h.more;
	return VR_DROP_NONE;
}

/* How many bytes the packet at ip has, whose header has been found right: vr_ip_bytes. */
VR_INLINE uint32_t vr_flow_bytes(const uint8_t *ip, uint32_t room)
{
	struct vr_ip h = {.version = ip[0] >> 4};

	h.total = h.version == 6 ? vr_get16(ip + 4) + VR_IP6_LEN : vr_get16(ip + 2);
	return vr_ip_bytes(&h, room);
}

/* Reads the IP header at ip, which has been found right or is a quoted one, and what of the next
 * tells the flow, of so many bytes. The key has its vif already. */
VR_INLINE enum vr_drop vr_flow_ip(const uint8_t *ip, const uint8_t *end, uint32_t direction,
				  uint32_t bytes, struct vr_flow_packet *p)
{
	uint32_t header = 0;
	enum vr_drop bad;

	p->quote = 0;
	p->flags = 0;
	vr_flow_ports(&p->key, direction, 0, 0);
	if (ip + 1 > end)
		return VR_DROP_truncated;
	if (ip[0] >> 4 == 6)
		bad = vr_flow_ip6(ip, end, direction, bytes, p, &header);
	else if (ip[0] >> 4 == 4)
		bad = vr_flow_ip4(ip, end, direction, p, &header);
	else
		bad = VR_DROP_bad_header;
	if (bad || p->later)
		return bad;
	if (bytes < header)
		return VR_DROP_truncated;
	bad = vr_flow_l4(ip + header, end, direction, bytes - header, p);
	if (p->quote)
		p->quote += header;
	return bad;
}

/* The key under which the fragments of one packet are known, once its first one has passed. IPv4
 * names them by addresses, protocol and identification (RFC 791, section 3.2), IPv6 without the
 * protocol: only the first fragment says that (RFC 8200, section 4.5). */
VR_INLINE void vr_flow_fragment(struct vr_flow_packet *p, uint32_t direction)
{
	if (p->key.family == VR_FAMILY_IP6)
		p->key.protocol = VR_IP6_FRAGMENT;
	p->key.family |= VR_FAMILY_FRAGMENT | (direction == VR_FLOW_IN ? VR_FAMILY_IN : 0);
	p->key.local_port = (uint16_t)(p->id >> 16);
	p->key.remote_port = (uint16_t)p->id;
}

#endif
