/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core under libFuzzer (https://llvm.org/docs/LibFuzzer.html) and the sanitizers: any frame, of
 * which a hook may see the beginning only, meets the tables of node.json; and any frame meets
 * tables of which words are damaged, for an index that is wrong must be a named drop and no more.
 *
 * The tables lie beside the program, in its name with ".tables". An input is a struct head, its
 * patches, and the frame.
 */
#include <sanitizer/asan_interface.h>

#define FUZZ_HOST_MAIN host_main
#include "fuzz_tunnel.h"
#include "fuzz_flow.h"
#include "fuzz_repair.h"

struct head {
	uint8_t slot;	 /* of the port's vif; 0: from the fabric */
	uint8_t flags;	 /* the lower half is how many patches there are */
	uint16_t gso;	 /* payload bytes a segment */
	uint32_t beyond; /* bytes of the frame that the hook cannot see */
} __attribute__((packed));

#define PATCHES 0x0f
#define REPAIR 0x80 /* IPv4 headers get right checksums, or few would go beyond those */
#define MOST_BEYOND                                                                                \
	0x3ffff /* more than any aggregate has (GSO_MAX_SIZE in netdevice.h: 524,280)              \
		 */

/* One word of a table, other than the agent would write it. */
struct patch {
	uint8_t table;
	uint8_t reserved;
	uint16_t word;
	uint64_t value;
} __attribute__((packed));

#define TABLES 10

static struct vr_tables tables;

static struct {
	uint64_t *words;
	size_t used; /* and a little more */
} memory[TABLES];

static void watch_table(int i, const void *words, size_t bytes)
{
	size_t used = bytes / 8;

	memory[i].words = (uint64_t *)(uintptr_t)words;
	while (used > 0 && !memory[i].words[used - 1])
		used--;
	memory[i].used = used + 8 < bytes / 8 ? used + 8 : bytes / 8;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[4096];

	(void)argc;
	snprintf(path, sizeof(path), "%s.tables", (*argv)[0]);
	tables = load_tables(path);
	watch_table(0, tables.node, sizeof(struct vr_node));
	watch_table(1, tables.vifs, VR_MAX_VIFS * sizeof(struct vr_vif));
	watch_table(2, tables.vrfs, VR_VRF_SLOTS * sizeof(struct vr_vrf));
	watch_table(3, tables.nhs, VR_MAX_NHS * sizeof(struct vr_nh));
	watch_table(4, tables.labels, VR_MAX_LABELS * sizeof(uint64_t));
	watch_table(5, tables.vnis, VR_MAX_VNIS * sizeof(uint64_t));
	watch_table(9, tables.macs, VR_MAX_MACS * sizeof(struct vr_mac));
	watch_table(8, tables.floods, VR_MAX_FLOODS * sizeof(struct vr_flood));
	watch_table(6, tables.blocks, tables.block_count * sizeof(struct vr_block));
	watch_table(7, tables.groups, VR_MAX_GROUPS * sizeof(struct vr_group));
	make_far_end();
	return 0;
}

/* Exchanges the words, so that doing it again, the last one first, brings them back. */
static void patch(struct patch *p)
{
	uint64_t *word = &memory[p->table % TABLES].words[p->word % memory[p->table % TABLES].used];
	uint64_t value = *word;

	*word = p->value;
	p->value = value;
}

/* The outer header, and the inner one of each encapsulation. */
static void repair_all(uint8_t *frame, size_t bytes)
{
	const size_t ip[] = {VR_ETH_LEN + VR_IP4_LEN, VR_ETH_LEN + VR_IP6_LEN};

	repair(frame, bytes, VR_ETH_LEN);
	for (int i = 0; i < 2; i++) {
		repair(frame, bytes, ip[i] + VR_MPLSOGRE_LEN);
		repair(frame, bytes, ip[i] + VR_MPLSOUDP_LEN);
		repair(frame, bytes, ip[i] + VR_VXLAN_ALL_LEN);
		repair(frame, bytes, ip[i] + VR_FRAME_MPLSOGRE_LEN);
		repair(frame, bytes, ip[i] + VR_FRAME_MPLSOUDP_LEN);
		repair(frame, bytes, ip[i] + VR_WORD_MPLSOGRE_LEN);
		repair(frame, bytes, ip[i] + VR_WORD_MPLSOUDP_LEN);
	}
}

static int is_bridged(uint8_t op)
{
	return op == VR_OP_BRIDGE || op == VR_OP_BRIDGE_TUNNEL || op == VR_OP_BRIDGE_DECAP ||
	       op == VR_OP_FLOOD;
}

/* What a mover must be able to do, and count once: received = forwarded + answered + passed +
 * drops. It does so by the operation alone. */
static void check_verdict(const struct vr_vif *vif, const struct shown *s,
			  const struct vr_verdict *v)
{
	CHECK(v->asked == VR_ASKED_FLOW || is_bridged(v->op) || v->op == VR_OP_DROP ||
	      v->op == VR_OP_TOO_BIG);
	CHECK(v->op < sizeof(op_names) / sizeof(op_names[0]));
	CHECK(v->drop < VR_DROP_COUNT);
	switch (v->op) {
	case VR_OP_DROP:
		CHECK(v->drop != VR_DROP_NONE);
		break;
	case VR_OP_PASS:
		CHECK(!vif); /* nothing of a tenant reaches the host's stack */
		break;
	case VR_OP_DECAP:
		CHECK(!vif && v->nh && v->nh->type == VR_NH_ENCAP);
		CHECK((size_t)VR_ETH_LEN + v->pop + VR_IP4_LEN <= s->bytes);
		break;
	case VR_OP_ENCAP:
	case VR_OP_TUNNEL:
		CHECK(v->nh && (!vif || v->routed));
		break;
	case VR_OP_BRIDGE:
	case VR_OP_BRIDGE_TUNNEL:
		CHECK(vif && v->nh && !v->routed);
		break;
	case VR_OP_BRIDGE_DECAP:
		CHECK(!vif && v->nh && v->nh->type == VR_NH_ENCAP);
		CHECK((size_t)VR_ETH_LEN + v->pop <= s->bytes);
		break;
	case VR_OP_FLOOD:
		CHECK(v->vrf && !v->pop == !!vif);
		break;
	default: /* an answer, which the fabric's mover drops */
		CHECK(!vif || v->vrf);
	}
}

/* Watching changes nothing, and all of it fits into a trace, with the six steps that movers add
 * (vif or handed, two of flow mode, verdict, and loss, pass or leave). */
static void check_traced(const struct vr_vif *vif, const struct shown *s,
			 const struct vr_verdict *v)
{
	unsigned int steps;
	struct vr_verdict w = decide_traced(&tables, vif, s, &steps);

	CHECK(steps + 6 <= VR_TRACE_STEPS);
	CHECK(w.op == v->op && w.drop == v->drop && w.nh == v->nh && w.vrf == v->vrf);
	CHECK(w.mtu == v->mtu && w.mss == v->mss && w.tos == v->tos && w.pop == v->pop);
	CHECK(w.asked == v->asked);
	CHECK(w.push.label == v->push.label && w.push.sport == v->push.sport);
	CHECK(w.outer == v->outer && w.routed == v->routed && w.version == v->version &&
	      w.header == v->header);
}

/* The bytes behind the packet's end may not be touched, but for those that an answer adds, or that
 * make a frame long enough. */
static void fence(const struct packet *p, const struct vr_verdict *v)
{
	int padded = v->op == VR_OP_BRIDGE_DECAP || v->op == VR_OP_BRIDGE_TUNNEL;
	size_t end = v->op == VR_OP_ND ? VR_ADVERTISED_LEN : padded * (v->pop + VR_FRAME_LEAST);
	const uint8_t *last = p->buffer + sizeof(p->buffer);

	if (end < p->length)
		end = p->length;
	ASAN_POISON_MEMORY_REGION(p->data + end, (size_t)(last - p->data) - end);
}

/* The packet once its hop is counted and its SYN clamped: what a tunnel carries. */
static void route(struct packet *p, struct vr_verdict *v)
{
	struct vr_verdict only = {.mss = v->mss,
				  .routed = v->routed,
				  .header = v->header,
				  .version = v->version,
				  .op = VR_OP_PASS};
	uint32_t sum = sum_of(p->data + VR_ETH_LEN, p->length - VR_ETH_LEN);
	uint16_t hop = v->version == 6 ? 0x0001 : 0; /* IPv6 has no checksum to make up for it */

	move(p, NULL, &only);
	CHECK((sum_of(p->data + VR_ETH_LEN, p->length - VR_ETH_LEN) + hop) % 0xffff == sum);
	v->mss = 0;
	v->routed = 0;
}

/* A node's own outer header: RFC 8200, section 3, with a flow label that tells flows. */
static void check_outer(const struct packet *p, const struct vr_verdict *v)
{
	const uint8_t *ip = p->data + VR_ETH_LEN;
	size_t payload = v->push.length + v->nh->push - VR_IP6_LEN;

	if (v->nh->outer == VR_IP4_LEN)
		return check_ip4(ip);
	CHECK(vr_get32(ip) == (0x60000000 | (uint32_t)v->push.tos << 20 | v->push.sport));
	CHECK(vr_get16(ip + 4) == (payload > 0xffff ? 0 : payload));
	CHECK(ip[7] == VR_OUTER_TTL);
}

static void forward(struct packet *p, const struct vr_vif *vif, const struct shown *s,
		    struct vr_verdict *v)
{
	static uint8_t inner[MAX_FRAME];
	const uint8_t *ip = p->data + VR_ETH_LEN;

	if (s->gso == 0) /* nothing longer than it may be leaves, whatever its header says */
		CHECK(s->length - VR_ETH_LEN - v->pop <= v->nh->mtu);
	if (v->routed)
		route(p, v);
	if (v->op == VR_OP_DECAP)
		ip += v->pop;
	memcpy(inner, p->data + VR_ETH_LEN, p->length - VR_ETH_LEN);
	move(p, vif, v);
	CHECK(vr_get_mac(p->data) == vr_mac_bits(v->nh->dmac));
	if (v->version == 4 && v->op != VR_OP_TUNNEL)
		check_ip4(ip);
	if (v->op != VR_OP_TUNNEL)
		return;
	check_outer(p, v);
	check_tunnel(p, v, s, inner);
}

/* A bridged frame is what it was, but for its SYN's size and the mark of congestion, and behind a
 * tunnel's headers there is all of it. */
static void bridge(struct packet *p, const struct vr_vif *vif, const struct shown *s,
		   struct vr_verdict *v)
{
	static uint8_t frame[MAX_FRAME];
	const size_t bytes = s->bytes - v->pop;

	if (s->gso == 0)
		CHECK(s->length - VR_ETH_LEN - v->pop <= v->nh->mtu);
	if (v->mss)
		clamp(p, v);
	memcpy(frame, p->data + v->pop, bytes);
	v->mss = 0;
	move(p, vif, v);
	if (v->op == VR_OP_BRIDGE_TUNNEL) {
		CHECK(p->length == bytes + v->nh->push);
		if (v->nh->outer == VR_IP4_LEN)
			check_ip4(p->data + VR_ETH_LEN);
		CHECK(memcmp(p->data + v->nh->push, frame, bytes) == 0);
		check_frame_tunnel(p, v, s, frame);
		return;
	}
	if (v->pop)
		check_padded(p, bytes);
	else
		CHECK(p->length == bytes);
	CHECK(memcmp(p->data, frame, VR_ETH_LEN) == 0);
	if (v->version == 4)
		check_ip4(p->data + VR_ETH_LEN);
}

/* With the agent's own tables, what comes of it must be right to the byte. */
static void check_moved(const struct vr_vif *vif, const struct shown *s, struct vr_verdict *v)
{
	static char copies[VR_FLOOD_TARGETS * (2 * MAX_FRAME / 16 + 64)];
	static struct packet p;

	if (v->op == VR_OP_DROP || v->op == VR_OP_PASS)
		return;
	p.data = p.buffer + 128;
	p.length = s->bytes;
	memcpy(p.data, s->data, s->bytes);
	fence(&p, v);
	if (v->op == VR_OP_ENCAP || v->op == VR_OP_TUNNEL || v->op == VR_OP_DECAP) {
		forward(&p, vif, s, v);
	} else if (v->op == VR_OP_BRIDGE || v->op == VR_OP_BRIDGE_TUNNEL ||
		   v->op == VR_OP_BRIDGE_DECAP) {
		bridge(&p, vif, s, v);
	} else if (v->op == VR_OP_FLOOD) {
		ASAN_UNPOISON_MEMORY_REGION(p.buffer, sizeof(p.buffer));
		flood(&tables, &p, vif, v, copies);
	} else if (vif && s->bytes == s->length) {
		move(&p, vif, v);
		check_answer(&p, vif, v);
	}
	ASAN_UNPOISON_MEMORY_REGION(p.buffer, sizeof(p.buffer));
}

/* Where the IP packet at an offset ends, by its header; past all that is shown if there is none. */
static size_t end_of_ip(const struct shown *s, size_t at)
{
	const uint8_t *ip = s->data + at;

	if (at + VR_IP6_LEN > s->bytes || (ip[0] >> 4 != 4 && ip[0] >> 4 != 6))
		return s->bytes;
	return at + (ip[0] >> 4 == 6 ? vr_get16(ip + 4) + (size_t)VR_IP6_LEN : vr_get16(ip + 2));
}

/* Whatever is behind the packet's end, or the inner packet's, nothing comes of it, but for the name
 * of a loss: a tunnel's headers that end behind the outer packet do so by any content. */
static void check_trailer(const struct vr_vif *vif, const struct shown *s, size_t at,
			  const struct vr_verdict *v)
{
	static uint8_t other[MAX_FRAME];
	size_t end = end_of_ip(s, at);
	struct shown changed = *s;
	struct vr_verdict w;

	if (s->gso || s->length > 0xffff || end < at + VR_IP6_LEN || end >= s->bytes)
		return;
	memcpy(other, s->data, s->bytes);
	for (size_t i = end; i < s->bytes; i++)
		other[i] ^= 0xff;
	changed.data = other;
	w = decide_shown(&tables, vif, &changed);
	CHECK(w.op == v->op);
	if (w.op == VR_OP_DROP)
		return;
	CHECK(w.nh == v->nh && w.vrf == v->vrf);
	CHECK(w.mtu == v->mtu && w.mss == v->mss && w.tos == v->tos && w.pop == v->pop);
	CHECK(w.push.sport == v->push.sport && w.asked == v->asked && w.header == v->header);
}

static void check(const struct head *h, const struct shown *s, int damaged)
{
	const struct vr_vif *vif = h->slot ? vr_vif_at(&tables, h->slot) : NULL;
	struct vr_verdict v = decide_shown(&tables, vif, s);

	check_verdict(vif, s, &v);
	check_traced(vif, s, &v);
	if (vr_is_forwarded(v.op) || vr_is_delivered(v.op) || v.op == VR_OP_FLOOD)
		check_asked(s, VR_ETH_LEN + v.pop, v.asked);
	if (vr_version_of(vr_get16(s->data + 12)))
		check_trailer(vif, s, VR_ETH_LEN, &v);
	if (v.pop && v.version)
		check_trailer(vif, s, VR_ETH_LEN + v.pop, &v);
	if (!damaged)
		check_moved(vif, s, &v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t frame[MAX_FRAME];
	struct patch patches[PATCHES];
	struct shown s = {.data = frame};
	struct head h;
	size_t n, at;

	if (size < sizeof(h) || size > MAX_FRAME)
		return -1;
	memcpy(&h, data, sizeof(h));
	n = h.flags & PATCHES;
	at = sizeof(h) + n * sizeof(patches[0]);
	if (size < at)
		return -1;
	memcpy(patches, data + sizeof(h), n * sizeof(patches[0]));
	s.bytes = size - at;
	s.length = (uint32_t)s.bytes + (h.beyond & MOST_BEYOND);
	s.gso = h.gso;
	memcpy(frame, data + at, s.bytes);
	if (h.flags & REPAIR)
		repair_all(frame, s.bytes);
	for (size_t i = 0; i < n; i++)
		patch(&patches[i]);
	check(&h, &s, n > 0);
	while (n > 0)
		patch(&patches[--n]);
	return 0;
}
