/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow mode on the host, under the sanitizers, against models that are slower and plainer:
 *
 *	flow	prints the state of every protocol and set of marks, a line each
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../vr_flow_cross.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "flow: line %d: %s does not hold\n", __LINE__, #x);        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* xorshift: the same cases in every run. */
static uint32_t any(uint32_t below)
{
	static uint32_t state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

/* A rule as a person reads it: bit by bit, and port by port. */
static int model_matches(const struct vr_rule *r, const struct vr_flow_key *k, uint32_t direction)
{
	uint32_t port = direction == VR_FLOW_OUT ? k->remote_port : k->local_port;
	int in_range = 0;

	for (uint32_t p = r->first_port; p <= r->last_port; p++)
		in_range |= p == port;
	for (int bit = 0; bit < 64; bit++) {
		uint64_t one = 1ULL << bit;

		if (r->mask.hi & one && (r->remote.hi & one) != (k->remote.hi & one))
			return 0;
		if (r->mask.lo & one && (r->remote.lo & one) != (k->remote.lo & one))
			return 0;
	}
	if (r->what_mask >> 8 & 0xff && (r->what >> 8 & 0xff) != k->family)
		return 0;
	return in_range && r->what >> 16 == direction &&
	       ((r->what_mask & 0xff) == 0 || (r->what & 0xff) == k->protocol);
}

static int model_allows(const struct vr_policy *p, const struct vr_flow_key *k, uint32_t direction)
{
	int answer = -1;

	for (int i = (int)p->count - 1; i >= 0; i--)
		if (model_matches(&p->rules[i], k, direction))
			answer = p->rules[i].allow;
	return answer < 0 ? p->otherwise == 1 : answer;
}

static struct vr_rule any_rule(void)
{
	static const uint8_t protocols[] = {0, VR_PROTO_ICMP, VR_PROTO_TCP, VR_PROTO_UDP};
	uint32_t bits = any(33);
	uint8_t protocol = protocols[any(4)];
	uint8_t family = any(2) ? VR_FAMILY_IP4 : any(2) ? VR_FAMILY_IP6 : 0;
	struct vr_rule r = {.what = VR_RULE_WHAT(any(2), family, protocol), .allow = any(2)};

	r.what_mask = VR_RULE_WHAT(0xff, family ? 0xff : 0, protocol ? 0xff : 0);
	if (family == VR_FAMILY_IP6) {
		r.mask.hi = ~0ULL;
		r.mask.lo = bits ? ~0ULL << (4 * bits & 63) : 0;
		r.remote.hi = 0xfd00000100000000ULL;
		r.remote.lo = any(16) & r.mask.lo;
	} else {
		r.mask.hi = (bits ? ~0u << (32 - bits) : 0ULL) << 32;
		r.remote.hi = ((uint64_t)(0x0a000000 | any(16)) << 32) & r.mask.hi;
	}
	r.first_port = (uint16_t)any(8);
	r.last_port = (uint16_t)(r.first_port + any(8));
	return r;
}

static void check_policies(void)
{
	static const uint8_t protocols[] = {VR_PROTO_ICMP, VR_PROTO_TCP, VR_PROTO_UDP, 47};
	static struct vr_policy p;
	uint32_t allowed = 0;

	for (int round = 0; round < 20000; round++) {
		struct vr_flow_key k = {
		    .protocol = protocols[any(4)],
		};
		uint32_t direction = any(2);

		p.count = any(round % 10 ? 6 : VR_MAX_RULES + 1);
		p.otherwise = any(2);
		for (uint32_t i = 0; i < p.count; i++)
			p.rules[i] = any_rule();
		k.family = any(2) ? VR_FAMILY_IP4 : VR_FAMILY_IP6;
		k.remote.hi = k.family == VR_FAMILY_IP6 ? 0xfd00000100000000ULL
							: (uint64_t)(0x0a000000 | any(16)) << 32;
		k.remote.lo = k.family == VR_FAMILY_IP6 ? any(16) : 0;
		k.local_port = (uint16_t)any(20);
		k.remote_port = (uint16_t)any(20);
		CHECK(vr_policy_allows(&p, &k, direction) == model_allows(&p, &k, direction));
		allowed += (uint32_t)model_allows(&p, &k, direction);
	}
	CHECK(allowed > 5000 && allowed < 15000); /* the cases are of both kinds */
}

/* A connection, packet by packet: who sends it, its flags, and the state behind it. */
struct step {
	int opener;
	uint8_t flags;
	enum vr_flow_state state;
};

static void follow(uint8_t protocol, const struct step *steps, size_t count)
{
	uint32_t marks = 0;

	for (size_t i = 0; i < count; i++) {
		marks |= vr_flow_marks(marks, steps[i].opener, protocol, steps[i].flags);
		CHECK(vr_flow_state(protocol, marks) == steps[i].state);
	}
}

static void check_connections(void)
{
	/* RFC 9293, figures 6 and 12. */
	static const struct step whole[] = {
	    {1, VR_TCP_SYN, VR_FLOW_OPENING},
	    {0, VR_TCP_SYN | VR_TCP_ACK, VR_FLOW_OPENING},
	    {1, VR_TCP_SYN, VR_FLOW_OPENING}, /* sent again: the answer was lost */
	    {1, VR_TCP_ACK, VR_FLOW_ESTABLISHED},
	    {0, VR_TCP_ACK, VR_FLOW_ESTABLISHED},
	    {1, VR_TCP_FIN | VR_TCP_ACK, VR_FLOW_ESTABLISHED},
	    {0, VR_TCP_ACK, VR_FLOW_ESTABLISHED},
	    {0, VR_TCP_FIN | VR_TCP_ACK, VR_FLOW_CLOSING},
	    {1, VR_TCP_ACK, VR_FLOW_CLOSING},
	};
	static const struct step refused[] = {
	    {1, VR_TCP_SYN, VR_FLOW_OPENING},
	    {0, VR_TCP_RST | VR_TCP_ACK, VR_FLOW_CLOSING},
	};
	static const struct step datagrams[] = {
	    {1, 0, VR_FLOW_OPENING},
	    {1, 0, VR_FLOW_OPENING},
	    {0, 0, VR_FLOW_ESTABLISHED},
	    {1, 255, VR_FLOW_ESTABLISHED},
	};

	follow(VR_PROTO_TCP, whole, sizeof(whole) / sizeof(whole[0]));
	follow(VR_PROTO_TCP, refused, sizeof(refused) / sizeof(refused[0]));
	follow(VR_PROTO_UDP, datagrams, sizeof(datagrams) / sizeof(datagrams[0]));
	CHECK(vr_flow_again(VR_PROTO_TCP, VR_FLOW_RESET, VR_TCP_SYN));
	CHECK(!vr_flow_again(VR_PROTO_TCP, VR_FLOW_RESET, VR_TCP_SYN | VR_TCP_ACK));
	CHECK(!vr_flow_again(VR_PROTO_TCP, VR_FLOW_CONFIRMED, VR_TCP_SYN));
	CHECK(!vr_flow_again(VR_PROTO_UDP, VR_FLOW_ANSWERED, VR_TCP_SYN));
}

/* Marks never take a flow back, except out of opening, whatever comes in whatever order. */
static void check_order(void)
{
	for (int round = 0; round < 20000; round++) {
		enum vr_flow_state state = VR_FLOW_OPENING;
		uint8_t protocol = any(2) ? VR_PROTO_TCP : VR_PROTO_UDP;
		uint32_t marks = 0;

		for (int i = 0; i < 12; i++) {
			marks |= vr_flow_marks(marks, (int)any(2), protocol, (uint8_t)any(32));
			CHECK(vr_flow_state(protocol, marks) >= state);
			state = vr_flow_state(protocol, marks);
		}
	}
}

static void put_ip(uint8_t *ip, uint8_t protocol, uint32_t from, uint32_t to, uint16_t frag)
{
	memset(ip, 0, VR_IP4_LEN);
	ip[0] = 0x45;
	vr_put16(ip + 2, protocol == VR_PROTO_ICMP ? 68 : 40);
	vr_put_raw16(ip + 4, 0x3412);
	ip[6] = (uint8_t)(frag >> 8);
	ip[7] = (uint8_t)frag;
	ip[9] = protocol;
	for (int i = 0; i < 4; i++) {
		ip[12 + i] = (uint8_t)(from >> (24 - 8 * i));
		ip[16 + i] = (uint8_t)(to >> (24 - 8 * i));
	}
}

static struct vr_flow_packet read_packet(const uint8_t *ip, size_t length, uint32_t direction)
{
	struct vr_flow_packet p = {.key.vif = 7};

	CHECK(!vr_flow_ip(ip, ip + length, direction, (uint32_t)length, &p));
	return p;
}

static int same(const struct vr_flow_packet *a, const struct vr_flow_packet *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

/* A packet and its answer have one key; so has an error with the packet that it quotes. */
static void check_keys(void)
{
	static const uint8_t there_ports[] = {0x30, 0x39, 0, 80},
			     back_ports[] = {0, 80, 0x30, 0x39};
	uint8_t there[40] = {0}, back[40] = {0}, error[68] = {0};
	struct vr_flow_packet a, b;

	put_ip(there, VR_PROTO_TCP, 0x0a000103, 0x0a000104, 0);
	memcpy(there + 20, there_ports, 4);
	put_ip(back, VR_PROTO_TCP, 0x0a000104, 0x0a000103, 0);
	memcpy(back + 20, back_ports, 4);
	a = read_packet(there, sizeof(there), VR_FLOW_OUT);
	b = read_packet(back, sizeof(back), VR_FLOW_IN);
	CHECK(same(&a, &b) && a.key.local_port == 12345 && a.key.remote_port == 80);

	put_ip(error, VR_PROTO_ICMP, 0x0a0001fe, 0x0a000103, 0);
	error[20] = 3;
	memcpy(error + 28, there, 40);
	b = read_packet(error, sizeof(error), VR_FLOW_IN);
	CHECK(b.quote == 28);
	b = read_packet(error + b.quote, 28, VR_FLOW_OUT);
	CHECK(same(&a, &b));
}

static void check_echo(void)
{
	uint8_t there[28] = {0}, back[28] = {0};
	struct vr_flow_packet a, b, other;

	put_ip(there, VR_PROTO_ICMP, 1, 2, 0);
	there[20] = 8;
	there[25] = 9;
	put_ip(back, VR_PROTO_ICMP, 2, 1, 0);
	back[25] = 9;
	a = read_packet(there, sizeof(there), VR_FLOW_OUT);
	b = read_packet(back, sizeof(back), VR_FLOW_IN);
	back[20] = 8; /* a request of the other side's is another flow */
	other = read_packet(back, sizeof(back), VR_FLOW_IN);
	CHECK(same(&a, &b) && !same(&a, &other));
}

static void check_fragments(void)
{
	uint8_t first[40] = {0}, later[40] = {0};
	struct vr_flow_packet a, b;

	put_ip(first, VR_PROTO_UDP, 1, 2, 0x2000);
	first[21] = 53;
	put_ip(later, VR_PROTO_UDP, 1, 2, 185);
	memset(later + 20, 0xff, 20);
	a = read_packet(first, sizeof(first), VR_FLOW_IN);
	b = read_packet(later, sizeof(later), VR_FLOW_IN);
	CHECK(a.first && !a.later && a.key.remote_port == 53);
	CHECK(b.later && !b.first);
	vr_flow_fragment(&a, VR_FLOW_IN);
	vr_flow_fragment(&b, VR_FLOW_IN);
	CHECK(same(&a, &b) && a.id == 0x1234);
	b = read_packet(later, sizeof(later), VR_FLOW_IN);
	vr_flow_fragment(&b, VR_FLOW_OUT);
	CHECK(!same(&a, &b));
}

static void put_ip6(uint8_t *ip, uint8_t next, uint8_t from, uint8_t to)
{
	memset(ip, 0, VR_IP6_LEN);
	ip[0] = 0x60;
	ip[6] = next;
	ip[8] = ip[24] = 0xfd;
	ip[23] = from;
	ip[39] = to;
}

static void check_keys6(void)
{
	static const uint8_t there_ports[] = {0x30, 0x39, 0, 80},
			     back_ports[] = {0, 80, 0x30, 0x39};
	uint8_t there[60] = {0}, back[68] = {0}, error[108] = {0}, echo[48] = {0};
	struct vr_flow_packet a, b;

	put_ip6(there, VR_PROTO_TCP, 3, 4);
	memcpy(there + 40, there_ports, 4);
	put_ip6(back, VR_IP6_DESTINATION, 4, 3); /* an extension changes nothing */
	back[40] = VR_PROTO_TCP;
	memcpy(back + 48, back_ports, 4);
	a = read_packet(there, sizeof(there), VR_FLOW_OUT);
	b = read_packet(back, sizeof(back), VR_FLOW_IN);
	CHECK(same(&a, &b) && a.key.local.lo == 3 && a.key.remote_port == 80);

	put_ip6(error, VR_PROTO_ICMP6, 9, 3);
	error[40] = 1;
	memcpy(error + 48, there, 60);
	b = read_packet(error, sizeof(error), VR_FLOW_IN);
	CHECK(b.quote == 48);
	b = read_packet(error + b.quote, 48, VR_FLOW_OUT);
	CHECK(same(&a, &b));

	put_ip6(echo, VR_PROTO_ICMP6, 3, 4);
	echo[40] = 128;
	echo[45] = 9;
	a = read_packet(echo, sizeof(echo), VR_FLOW_OUT);
	put_ip6(echo, VR_PROTO_ICMP6, 4, 3);
	echo[40] = 129;
	b = read_packet(echo, sizeof(echo), VR_FLOW_IN);
	CHECK(same(&a, &b) && a.key.local_port == 9);
}

/* RFC 8200, section 4.5: the identification has 32 bits, and what follows is the first one's. */
static void check_fragments6(void)
{
	uint8_t first[56] = {0}, later[56] = {0}, atomic[56] = {0};
	struct vr_flow_packet a, b;

	put_ip6(first, VR_IP6_FRAGMENT, 3, 4);
	memcpy(first + 40, "\x11\0\0\x01\x12\x34\x56\x78\0\1\0\x35", 12);
	put_ip6(later, VR_IP6_FRAGMENT, 3, 4);
	memcpy(later + 40, "\x3c\0\x05\xa8\x12\x34\x56\x78", 8);
	put_ip6(atomic, VR_IP6_FRAGMENT, 3, 4);
	memcpy(atomic + 40, "\x11\0\0\0\x12\x34\x56\x78\0\1\0\x35", 12);
	a = read_packet(first, sizeof(first), VR_FLOW_OUT);
	b = read_packet(later, sizeof(later), VR_FLOW_OUT);
	CHECK(a.first && !a.later && a.key.remote_port == 53 && b.later && !b.first);
	vr_flow_fragment(&a, VR_FLOW_OUT);
	vr_flow_fragment(&b, VR_FLOW_OUT);
	CHECK(same(&a, &b) && a.id == 0x12345678);
	a = read_packet(atomic, sizeof(atomic), VR_FLOW_OUT); /* RFC 6946: a packet, whole */
	CHECK(!a.first && !a.later && a.key.remote_port == 53);
}

/* The mover's part, with room for a few. */
static struct {
	struct vr_flow_key key;
	struct vr_flow flow;
} table[4];
static size_t known;
static int allowed;

VR_INLINE struct vr_flow *vr_flow_find(const struct vr_flow_key *key)
{
	for (size_t i = 0; i < known; i++)
		if (memcmp(&table[i].key, key, sizeof(*key)) == 0)
			return &table[i].flow;
	return NULL;
}

VR_INLINE struct vr_flow_room *vr_flow_room(void)
{
	static struct vr_flow_room room;

	return &room;
}

VR_INLINE enum vr_drop vr_flow_make(const struct vr_flow_key *key, const struct vr_flow *fresh,
				    uint32_t vrf)
{
	CHECK(vrf == 5 && fresh->vrf == 5);
	if (known == sizeof(table) / sizeof(table[0]))
		return VR_DROP_flow_table_full;
	table[known].key = *key;
	table[known++].flow = *fresh;
	return VR_DROP_NONE;
}

VR_INLINE int vr_flow_policy(uint32_t policy, const struct vr_flow_key *key, uint32_t direction)
{
	CHECK(policy == 6 && key->vif == 7 && direction <= VR_FLOW_IN);
	return allowed;
}

VR_INLINE int vr_flow_otherwise(uint32_t policy)
{
	CHECK(policy == 6);
	return allowed;
}

VR_INLINE uint64_t vr_flow_clock(void)
{
	return 1;
}

static enum vr_drop cross_as(const uint8_t *ip, size_t length, uint16_t direction, uint16_t asked)
{
	static const struct vr_vif vif = {.vrf = 5, .policy = 6};
	struct vr_flow_at at = {.vif = &vif,
				.policy = vif.policy,
				.slot = 7,
				.direction = direction,
				.asked = asked,
				.bytes = (uint32_t)length};
	struct vr_frame f = {.data = ip, .end = ip + length, .length = (uint32_t)length};

	return vr_flow_decide(&f, 0, &at);
}

static enum vr_drop cross(const uint8_t *ip, size_t length, uint32_t direction)
{
	return cross_as(ip, length, (uint16_t)direction, VR_ASKED_FLOW);
}

/* Frames that hold no IP have no flow, whatever their bytes are; a link's own messages cross. */
static void check_no_ip(void)
{
	uint8_t bytes[40];

	put_ip(bytes, VR_PROTO_UDP, 1, 2, 0);
	known = 0;
	for (allowed = 0; allowed < 2; allowed++) {
		CHECK(cross_as(bytes, 40, VR_FLOW_IN, VR_ASKED_DEFAULT) ==
		      (allowed ? VR_DROP_NONE : VR_DROP_policy_denied));
		CHECK(!cross_as(bytes, 40, VR_FLOW_OUT, VR_ASKED_NOTHING));
	}
	CHECK(known == 0);
}

/* What begins is answered, quoted and continued; nothing else is. */
static void check_crossing(void)
{
	uint8_t there[40] = {0}, back[40] = {0}, error[68] = {0};

	put_ip(there, VR_PROTO_UDP, 1, 2, 0x2000);
	put_ip(back, VR_PROTO_UDP, 2, 1, 0);
	put_ip(error, VR_PROTO_ICMP, 9, 1, 0);
	error[20] = 3;
	memcpy(error + 28, there, 40);
	known = 0;
	allowed = 0;
	CHECK(cross(there, 40, VR_FLOW_OUT) == VR_DROP_policy_denied && known == 0);
	CHECK(cross(error, 68, VR_FLOW_IN) == VR_DROP_icmp_unrelated);
	allowed = 1;
	CHECK(!cross(there, 40, VR_FLOW_OUT) && known == 2); /* and what follows the fragment */
	CHECK(!cross(there, 40, VR_FLOW_OUT) && known == 2);
	allowed = 0;
	CHECK(!cross(back, 40, VR_FLOW_IN) && table[0].flow.packets[1] == 1);
	CHECK(!cross(error, 68, VR_FLOW_IN) && table[0].flow.packets[1] == 1);
	CHECK(cross(error, 68, VR_FLOW_OUT) == VR_DROP_icmp_unrelated); /* it quotes its own */
	error[19] = 8; /* to somebody else than who sent what it quotes */
	CHECK(cross(error, 68, VR_FLOW_IN) == VR_DROP_icmp_unrelated);
	put_ip(there, VR_PROTO_UDP, 1, 2, 1);
	CHECK(!cross(there, 40, VR_FLOW_OUT));
	CHECK(cross(there, 40, VR_FLOW_IN) == VR_DROP_fragment_unknown);
	there[5]++;
	CHECK(cross(there, 40, VR_FLOW_OUT) == VR_DROP_fragment_unknown);
	allowed = 1;
	put_ip(there, VR_PROTO_UDP, 1, 3, 0);
	CHECK(!cross(there, 40, VR_FLOW_OUT) && known == 3);
	put_ip(there, VR_PROTO_UDP, 1, 4, 0x2000); /* room for itself, not for what follows */
	CHECK(cross(there, 40, VR_FLOW_OUT) == VR_DROP_flow_table_full && known == 4);
	CHECK(table[0].flow.packets[0] == 2 && table[0].flow.bytes[0] == 80);
}

/* Random bytes, each in a block of its own size, for the sanitizers. */
static void check_bounds(void)
{
	static const uint8_t nexts[] = {VR_PROTO_ICMP6, VR_IP6_FRAGMENT, VR_PROTO_TCP,
					VR_IP6_HOP_BY_HOP};

	for (int round = 0; round < 100000; round++) {
		size_t length = any(200);
		uint8_t *ip = malloc(length + 1);
		int six = (int)any(2);

		for (size_t i = 0; i < length; i++)
			ip[i + 1] = (uint8_t)any(any(2) ? 256 : 4);
		if (length)
			ip[1] = six ? 0x60 : (uint8_t)(0x45 + any(3));
		if (length > 9 && !six)
			ip[10] = any(2) ? VR_PROTO_ICMP : VR_PROTO_TCP;
		if (length > 9 && six)
			ip[7] = nexts[any(4)];
		known = any(2) ? 0 : 4;
		allowed = (int)any(2);
		cross(ip + 1, length, any(2));
		free(ip);
	}
}

int main(void)
{
	static const uint8_t protocols[] = {VR_PROTO_TCP, VR_PROTO_UDP};

	check_policies();
	check_connections();
	check_order();
	check_keys();
	check_echo();
	check_fragments();
	check_keys6();
	check_fragments6();
	check_crossing();
	check_no_ip();
	check_bounds();
	for (int i = 0; i < 2; i++)
		for (uint32_t marks = 0; marks < 32; marks++)
			printf("%u %u %d\n", protocols[i], marks,
			       vr_flow_state(protocols[i], marks));
	return 0;
}
