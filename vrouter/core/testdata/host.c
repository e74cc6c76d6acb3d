/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core on the host, under the sanitizers: a mover that moves packets through a buffer.
 *
 *	host TABLES [quick] < cases
 *
 * TABLES holds the tables' memory, one after the other. A case is a line "vif SLOT GSO HEX" or
 * "fabric 0 GSO HEX"; the answer is "OP REASON HEX", and " IFINDEX:HEX" for each copy of a frame
 * that is flooded, the last of which is HEX, too. Every frame is copied into a block of exactly its
 * size, so that a byte read behind its end is found; and every shorter beginning of it, and many
 * damaged copies, are decided as well, only for the sanitizers to see: not so if it is to be quick.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../vr_decide.h"
#include "../vr_build6.h"
#include "../vr_build_bridge.h"
#ifdef FUZZ_HOST_MAIN
#include "fuzz_table.h"
#else
#include "host_flow.h"
#endif

#define MAX_FRAME 70000

static const char *const op_names[] = {"drop",		"pass",		"arp",	 "echo", "too_big",
				       "encap",		"tunnel",	"decap", "nd",	 "bridge",
				       "bridge_tunnel", "bridge_decap", "flood"};
static const char *const drop_names[] = {"",
#define VR_X(name, text) #name,
					 VR_DROP_REASONS(VR_X)
#undef VR_X
};

static void *load(FILE *f, size_t size)
{
	void *memory = malloc(size);

	if (!memory || fread(memory, 1, size, f) != size) {
		fprintf(stderr, "host: the tables are too short\n");
		exit(1);
	}
	return memory;
}

/* What is left of the file is blocks of the route tables, as many as there are. */
static void load_blocks(FILE *f, struct vr_tables *t)
{
	long at = ftell(f), end;

	fseek(f, 0, SEEK_END);
	end = ftell(f);
	fseek(f, at, SEEK_SET);
	t->block_count = (uint32_t)((size_t)(end - at) / sizeof(struct vr_block));
	t->blocks = load(f, t->block_count * sizeof(struct vr_block));
}

static struct vr_tables load_tables(const char *path)
{
	struct vr_tables t;
	FILE *f = fopen(path, "rb");

	if (!f) {
		perror(path);
		exit(1);
	}
	t.node = load(f, sizeof(struct vr_node));
	t.vifs = load(f, VR_MAX_VIFS * sizeof(struct vr_vif));
	t.vrfs = load(f, VR_VRF_SLOTS * sizeof(struct vr_vrf));
	t.nhs = load(f, VR_MAX_NHS * sizeof(struct vr_nh));
	t.groups = load(f, VR_MAX_GROUPS * sizeof(struct vr_group));
	t.labels = load(f, VR_MAX_LABELS * sizeof(uint64_t));
	t.vnis = load(f, VR_MAX_VNIS * sizeof(uint64_t));
	host_policies = load(f, VR_MAX_POLICIES * sizeof(struct vr_policy));
	t.macs = load(f, VR_MAX_MACS * sizeof(struct vr_mac));
	t.floods = load(f, VR_MAX_FLOODS * sizeof(struct vr_flood));
	load_blocks(f, &t);
	fclose(f);
	return t;
}

static void unload_tables(struct vr_tables *t)
{
	free((void *)t->node);
	free((void *)t->vifs);
	free((void *)t->vrfs);
	free((void *)t->nhs);
	free((void *)t->groups);
	free((void *)t->labels);
	free((void *)t->vnis);
	free((void *)host_policies);
	free((void *)t->macs);
	free((void *)t->floods);
	free((void *)t->blocks);
}

/* The frame, in a buffer that has room in front of and behind it. */
struct packet {
	uint8_t buffer[MAX_FRAME + 256];
	uint8_t *data;
	size_t length;
};

static struct vr_verdict decide(const struct vr_tables *t, const struct vr_vif *vif,
				const uint8_t *data, size_t length, uint32_t gso)
{
	uint8_t *exact = malloc(length ? length : 1);
	struct vr_frame f = {
	    .data = exact, .end = exact + length, .length = (uint32_t)length, .gso_size = gso};
	struct vr_verdict v = {0};

	memcpy(exact, data, length);
	if (vif)
		vr_decide_vif(t, &f, vif, &v);
	else
		vr_decide_fabric(t, t->node, &f, &v);
	free(exact);
	return v;
}

/* Room behind the Ethernet header, or less of it. */
static void adjust(struct packet *p, int by)
{
	memmove(p->data - by, p->data, VR_ETH_LEN);
	p->data -= by;
	p->length += (size_t)by;
}

static void answer_too_big6(struct packet *p, const struct vr_vif *vif, const struct vr_verdict *v)
{
	p->length = VR_ETH_LEN + VR_QUOTE6_LEN;
	adjust(p, VR_IP6_LEN + VR_ICMP_LEN);
	vr_build_too_big6(p->data, vif->mac, v->vrf->gateway_mac, v->vrf->gateway6, v->mtu);
}

static void answer_too_big(struct packet *p, const struct vr_vif *vif, const struct vr_verdict *v)
{
	p->length = VR_ETH_LEN + VR_QUOTE_LEN;
	adjust(p, VR_IP4_LEN + VR_ICMP_LEN);
	vr_build_too_big(p->data, vif->mac, v->vrf->gateway_mac, v->vrf->gateway, v->mtu);
}

static void push(struct packet *p, const struct vr_verdict *v)
{
	adjust(p, v->nh->push);
#define PUSH(ip, kind) (vr_build_tunnel(p->data, v->nh, &v->push, ip, kind), 0)
	(void)VR_BY_TUNNEL(v->nh, PUSH);
#undef PUSH
}

/* The tunnel's headers before the whole frame. */
static void push_frame(struct packet *p, const struct vr_nh *nh, const struct vr_verdict *v)
{
	struct vr_eth eth;

	vr_read_eth(p->data, &eth);
	adjust(p, nh->push);
#define PUSH(ip, kind) (vr_build_frame(p->data, nh, &v->push, &eth, ip, kind), 0)
	(void)VR_BY_FRAME_TUNNEL(nh, PUSH);
#undef PUSH
}

/* And off it. */
static void pop_frame(struct packet *p, const struct vr_verdict *v)
{
	struct vr_eth eth;

	if (!v->pop)
		return;
	vr_read_eth(p->data + v->pop, &eth);
	adjust(p, -(int)v->pop);
	vr_build_own_eth(p->data, &eth);
	for (; p->length < VR_FRAME_LEAST; p->length++)
		p->data[p->length] = 0;
	if (v->version)
		vr_build_tos(p->data + VR_ETH_LEN, v->tos, v->version);
}

/* Whether the packet may cross a vif: what flow mode reads of it is not behind its end. */
static enum vr_drop cross_vif(const struct vr_tables *t, const struct packet *p,
			      const struct vr_verdict *v, uint32_t slot, uint16_t direction)
{
	const struct vr_vif *vif = vr_vif_at(t, slot);
	uint8_t *exact = malloc(p->length);
	struct vr_frame f = {
	    .data = exact, .end = exact + p->length, .length = (uint32_t)p->length};
	struct vr_flow_at at = {.vif = vif,
				.policy = vif->policy,
				.slot = slot,
				.direction = direction,
				.asked = v->asked,
				.bytes = (uint32_t)p->length - v->pop};
	enum vr_drop lost;

	memcpy(exact, p->data, p->length);
	lost = vr_flow_decide(&f, VR_ETH_LEN + v->pop, &at);
	free(exact);
	return lost;
}

/* Flow mode, where a packet enters from a port, and where it is delivered to one. The copies of one
 * that is for all are looked at one by one. */
static void flow_mode(const struct vr_tables *t, const struct packet *p, const struct vr_vif *vif,
		      struct vr_verdict *v)
{
	enum vr_drop lost = VR_DROP_NONE;

	if (!vr_is_forwarded(v->op) && !vr_is_delivered(v->op) && v->op != VR_OP_FLOOD)
		return;
	if (vif && vif->policy)
		lost = cross_vif(t, p, v, (uint32_t)(vif - t->vifs), VR_FLOW_OUT);
	if (!lost && v->op != VR_OP_FLOOD && v->nh->flags & VR_NH_FLOW)
		lost = cross_vif(t, p, v, v->nh->vif, VR_FLOW_IN);
	if (lost)
		vr_drop_it(v, lost);
}

/* Every copy is made of the frame as it came. */
static void flood(const struct vr_tables *t, struct packet *p, const struct vr_vif *vif,
		  struct vr_verdict *v, char *copies)
{
	static struct packet copy;
	struct vr_flood list = *vr_flood_at(t, v->vrf->flood);

	v->op = VR_OP_DROP;
	v->drop = VR_DROP_flood_nobody;
	for (uint32_t i = 0; i < list.count; i++) {
		const struct vr_nh *nh = vr_nh_at(t, VR_ROUTE_REF(list.targets[i]));
		enum vr_drop fails;

		if (!vr_copy_goes(nh, vif ? (uint32_t)(vif - t->vifs) : 0, v->pop != 0))
			continue;
		fails = vr_copy_fails(nh, v->longest);
		if (!fails && nh->flags & VR_NH_FLOW)
			fails = cross_vif(t, p, v, nh->vif, VR_FLOW_IN);
		if (v->op == VR_OP_DROP)
			v->drop = (uint8_t)fails;
		if (fails)
			continue;
		copy = *p;
		copy.data = copy.buffer + (p->data - p->buffer);
		pop_frame(&copy, v);
		v->push.label = VR_ROUTE_LABEL(list.targets[i]);
		if (nh->type == VR_NH_TUNNEL)
			push_frame(&copy, nh, v);
		v->op = VR_OP_FLOOD;
		copies += sprintf(copies, " %u:", nh->ifindex);
		for (size_t j = 0; j < copy.length; j++)
			copies += sprintf(copies, "%02x", copy.data[j]);
	}
	if (v->op == VR_OP_FLOOD) {
		*p = copy;
		p->data = p->buffer + (copy.data - copy.buffer);
	}
}

static void clamp(struct packet *p, const struct vr_verdict *v)
{
	uint8_t *tcp = p->data + VR_ETH_LEN + v->header;
	uint32_t at = vr_mss_find(tcp, p->data + p->length);

	if (at && vr_get16(tcp + at) > v->mss)
		vr_build_mss(tcp, at, v->mss);
}

static void move(struct packet *p, const struct vr_vif *vif, const struct vr_verdict *v)
{
	if (v->mss)
		clamp(p, v);
	if (v->routed)
		vr_build_hop(p->data + VR_ETH_LEN, v->version);
	switch (v->op) {
	case VR_OP_ARP:
		return vr_build_arp_reply(p->data, v->vrf->gateway_mac);
	case VR_OP_ND:
		p->length = VR_ADVERTISED_LEN;
		return vr_build_advertisement(p->data, v->vrf->gateway_mac);
	case VR_OP_ECHO:
		return v->version == 6 ? vr_build_echo6_reply(p->data)
				       : vr_build_echo_reply(p->data);
	case VR_OP_TOO_BIG:
		return v->version == 6 ? answer_too_big6(p, vif, v) : answer_too_big(p, vif, v);
	case VR_OP_TUNNEL:
		return push(p, v);
	case VR_OP_BRIDGE_TUNNEL:
		return push_frame(p, v->nh, v);
	case VR_OP_BRIDGE_DECAP:
		return pop_frame(p, v);
	case VR_OP_DECAP:
		adjust(p, -(int)v->pop);
		vr_build_eth(p->data, v->nh->dmac, v->nh->smac, v->version);
		return vr_build_tos(p->data + VR_ETH_LEN, v->tos, v->version);
	case VR_OP_ENCAP:
		return vr_build_eth(p->data, v->nh->dmac, v->nh->smac, v->version);
	}
}

/* xorshift: the same damage in every run. */
static uint32_t next_random(void)
{
	static uint32_t state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

static void damage(const struct vr_tables *t, const struct vr_vif *vif, const uint8_t *data,
		   size_t length, uint32_t gso)
{
	static uint8_t copy[MAX_FRAME];

	for (size_t shorter = 0; shorter < length && shorter < 200; shorter++)
		decide(t, vif, data, shorter, gso);
	for (int i = 0; i < 2000; i++) {
		memcpy(copy, data, length);
		for (int j = 0; j < 4; j++)
			copy[next_random() % (length < 100 ? length : 100)] =
			    (uint8_t)next_random();
		decide(t, vif, copy, length, gso);
	}
}

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned int byte;

	while (n < MAX_FRAME && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		out[n++] = (uint8_t)byte;
	return n;
}

static void answer(const struct vr_tables *t, const struct vr_vif *vif, unsigned int gso,
		   const char *hex, int quick)
{
	static char copies[VR_FLOOD_TARGETS * (2 * MAX_FRAME / 16 + 64)];
	static struct packet p;
	struct vr_verdict v;

	p.data = p.buffer + 128;
	p.length = unhex(hex, p.data);
	v = decide(t, vif, p.data, p.length, gso);
	if (!quick)
		damage(t, vif, p.data, p.length, gso);
	copies[0] = 0;
	flow_mode(t, &p, vif, &v);
	if (v.op == VR_OP_FLOOD)
		flood(t, &p, vif, &v, copies);
	else
		move(&p, vif, &v);
	printf("%s %s ", op_names[v.op], v.op == VR_OP_DROP ? drop_names[v.drop] : "-");
	for (size_t i = 0; v.op != VR_OP_DROP && i < p.length; i++)
		printf("%02x", p.data[i]);
	printf("%s\n", copies);
}

/* The protocol of a packet that was decided by the short way, or 0. */
static void answer_plain(const struct vr_tables *t, const struct vr_vif *vif, unsigned int gso,
			 const char *hex)
{
	static uint8_t data[MAX_FRAME];

	printf("%u\n", decide(t, vif, data, unhex(hex, data), gso).plain);
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "host: line %d: %s does not hold\n", __LINE__, #x);        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void check_checksums(void)
{
	/* The example of RFC 1071, section 3: the sum is ddf2. */
	const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	CHECK(vr_csum_fold((uint64_t)vr_raw32(words) + vr_raw32(words + 4)) ==
	      __builtin_bswap16(0xddf2));
	/* The example of RFC 1624, section 4: dd2f, 5555 to 3285, gives 0000. */
	CHECK(vr_csum_replace(0xdd2f, 0x5555, 0x3285) == 0x0000);
}

/* RFC 6040, figure 4, row by row: inner not-ECT, ECT(0), ECT(1), CE; -1 is drop. */
static void check_ecn(void)
{
	static const int8_t figure[4][4] = {
	    /* outer: not-ECT, ECT(1), ECT(0), CE */
	    [0] = {0, 0, 0, -1},
	    [2] = {2, 1, 2, 3},
	    [1] = {1, 1, 1, 3},
	    [3] = {3, 3, 3, 3},
	};

	for (uint8_t in = 0; in < 4; in++)
		for (uint8_t out = 0; out < 4; out++)
			CHECK(vr_ecn_decapsulate(out, in) == figure[in][out]);
}

/* All packets of a flow leave by one port; flows spread over the range of RFC 7510, be it their
 * ports that differ or, in fragments, only their addresses. */
static void check_entropy(struct vr_addr from, struct vr_addr to, int by_address)
{
	uint8_t seen[65536] = {0};
	unsigned int ports = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		struct vr_ip h = {.saddr = from, .daddr = to, .proto = VR_PROTO_TCP};
		uint16_t port;

		if (by_address)
			h.saddr.lo += i;
		else
			h.sport = (uint16_t)(i + 1024), h.dport = 80;
		port = vr_entropy_port(&h, 1);
		CHECK(port >= 49152 && port == vr_entropy_port(&h, 1));
		ports += !seen[port];
		seen[port] = 1;
	}
	/* 10,000 balls in 16,384 bins fill 7,486 of them. */
	CHECK(ports > 7300 && ports < 7700);
}

static void check_segments(void)
{
	struct vr_ip h = {.total = 4000, .header = 20, .l4 = 32};

	CHECK(vr_segment_length(&h, 0) == 4000);
	CHECK(vr_segment_length(&h, 1448) == 1500);
}

/* Options that lie about their length, and a size behind the last one that is looked at. */
static void check_mss(void)
{
	uint8_t tcp[VR_TCP_MAX_LEN] = {[12] = 0xf0, [20] = 2, [21] = 4, [22] = 5, [23] = 180};
	uint8_t *options = tcp + VR_TCP_LEN;

	CHECK(vr_mss_find(tcp, tcp + sizeof(tcp)) == 22);
	CHECK(vr_mss_find(tcp, tcp + 23) == 0);
	tcp[12] = 0x50;
	CHECK(vr_mss_find(tcp, tcp + sizeof(tcp)) == 0);
	tcp[12] = 0xf0;
	memset(options, 1, 40);
	memcpy(options + 3, "\2\4\5\6", 4);
	CHECK(vr_mss_find(tcp, tcp + sizeof(tcp)) == 25);
	memset(options, 1, 40);
	memcpy(options + VR_MSS_OPTIONS, "\2\4\5\6", 4);
	CHECK(vr_mss_find(tcp, tcp + sizeof(tcp)) == 0);
	for (int length = 0; length < 256; length++) {
		options[0] = 8;
		options[1] = (uint8_t)length;
		vr_mss_find(tcp, tcp + sizeof(tcp));
	}
}

int main(int argc, char **argv)
{
	const struct vr_addr site = {0xfd00000100000000, 3};
	static char line[2 * MAX_FRAME + 64], hex[2 * MAX_FRAME + 1];
	struct vr_tables t;
	char at[16];
	unsigned int slot, gso;

	check_checksums();
	check_ecn();
	check_entropy(vr_addr_of(0x0a000103), vr_addr_of(0x0a000104), 0);
	check_entropy(site, site, 0);
	check_entropy(site, site, 1);
	check_segments();
	check_mss();
	if (argc != 2 && argc != 3)
		return 2;
	t = load_tables(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		const struct vr_vif *vif;

		if (sscanf(line, "%15s %u %u %140000s", at, &slot, &gso, hex) != 4)
			return 2;
		vif = at[0] == 'v' ? vr_vif_at(&t, slot) : NULL;
		if (argc == 3 && strcmp(argv[2], "plain") == 0)
			answer_plain(&t, vif, gso, hex);
		else
			answer(&t, vif, gso, hex, argc == 3);
	}
	unload_tables(&t);
	return 0;
}
