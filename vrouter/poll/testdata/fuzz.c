/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The poll mode's packet handling under libFuzzer (https://llvm.org/docs/LibFuzzer.html) and the
 * sanitizers: bursts of packets with any room in front, any marks and any length go through
 * poll_forward by the tables of node.json, to ports that take what they like. What must hold: each
 * ends in one way and is counted so, to the byte; every buffer is given back; and nothing is read
 * behind a packet's end.
 *
 * The image lies beside the program, in its name with ".image". An input is a struct head, and
 * packets, each a struct shape and its bytes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* cpu_set_t */
#endif
#include "stand.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <sanitizer/asan_interface.h>

#include "../image.h"
#include "../../core/vr_build_bridge.h"
#include "../../core/vr_build6.h"
#include "../../core/vr_mss.h"
#include "../../core/testdata/fuzz_repair.h"

struct head {
	uint8_t room;  /* packets that ports take before all are full; 255: any number */
	uint8_t takes; /* what the ports leave to those behind them: ports.h */
} __attribute__((packed));

struct shape {
	uint8_t port;
	uint8_t flags; /* REPAIR and UNFINISHED */
	uint8_t front; /* bytes in front, but for 255: then none are left behind */
	uint8_t reserved;
	uint16_t bytes; /* that follow in the input */
	uint16_t more;	/* zeros behind them */
	uint32_t marks; /* ol_flags, of those that a driver sets */
	uint16_t segment;
} __attribute__((packed));

#define WHOLE (RTE_PKTMBUF_HEADROOM + POLL_FRAME)
#define LONGEST 70000	/* more than any aggregate */
#define BUDGET 6000	/* buffers of an input: no more than there are, or one would come twice */
#define REPAIR 0x10	/* IPv4 headers get right checksums, or few would go beyond those */
#define UNFINISHED 0x20 /* TCP and UDP get the one that a sender leaves to a device */

static struct poll_image image;

/* The flows as they were at first: what comes of an input is not another one's. */
static uint8_t *flows[POLL_SHARED];

static void *flow_table(int i)
{
	return (uint8_t *)image.header + image.header->shared[i].offset;
}

static void remember_flows(void)
{
	for (int i = 0; i < POLL_SHARED; i++) {
		flows[i] = malloc(image.header->shared[i].bytes);
		STAND_CHECK(flows[i]);
		memcpy(flows[i], flow_table(i), image.header->shared[i].bytes);
	}
}

static void forget_flows(void)
{
	for (int i = 0; i < POLL_SHARED; i++)
		memcpy(flow_table(i), flows[i], image.header->shared[i].bytes);
}

/* DPDK ties this thread to one CPU; it gets back those that it had. */
static void begin_dpdk(void)
{
	char core[32];
	char *eal[] = {"fuzz",	   "--no-shconf",    "--no-huge",     "-m", "64", "--iova-mode=va",
		       "--no-pci", "--no-telemetry", "--log-level=5", core};
	cpu_set_t set;
	int cpu = 0;

	STAND_CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set))
		cpu++;
	snprintf(core, sizeof(core), "--lcores=0@%d", cpu);
	STAND_CHECK(rte_eal_init(sizeof(eal) / sizeof(eal[0]), eal) >= 0);
	STAND_CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* A file in memory of this process's own: several look for inputs side by side. */
static int copy_of(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("image", MFD_CLOEXEC);
	struct stat st;

	STAND_CHECK(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	for (off_t at = 0; at < st.st_size;)
		STAND_CHECK(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	close(from);
	return to;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[4096];

	(void)argc;
	snprintf(path, sizeof(path), "%s.image", (*argv)[0]);
	STAND_CHECK(poll_image_open(copy_of(path), &image) == 0);
	begin_dpdk();
	stand_begin(&image.tables, poll_account_of(&image, 0));
	remember_flows();
	return 0;
}

/* What a stack leaves in the checksum's place is the sum of the pseudo-header (tcp_v4_send_check in
 * net/ipv4/tcp_ipv4.c): RFC 9293, section 3.1; RFC 8200, section 8.1. */
static void unfinish(uint8_t *frame, size_t bytes, size_t at)
{
	uint8_t *ip = frame + at;
	int six = at < bytes && ip[0] >> 4 == 6;
	size_t header = six ? VR_IP6_LEN : VR_IP4_LEN, from = six ? 8 : 12;
	uint16_t length;
	uint64_t sum;
	uint8_t proto;

	if (at + header + VR_TCP_LEN > bytes || (!six && ip[0] != 0x45))
		return;
	proto = six ? ip[6] : ip[9];
	length = six ? vr_get16(ip + 4) : (uint16_t)(vr_get16(ip + 2) - VR_IP4_LEN);
	sum = (uint64_t)__builtin_bswap16(length) + __builtin_bswap16(proto);
	for (size_t i = from; i < header; i += 4)
		sum += vr_raw32(ip + i);
	if (proto == VR_PROTO_TCP || proto == VR_PROTO_UDP)
		vr_put_raw16(ip + header + (proto == VR_PROTO_TCP ? VR_TCP_CSUM : 6),
			     vr_csum_fold(sum));
}

/* At the packet's own header, and at that inside of each tunnel. */
static void at_headers(void (*change)(uint8_t *, size_t, size_t), uint8_t *frame, size_t bytes)
{
	const uint8_t wraps[] = {VR_MPLSOGRE_LEN,	VR_MPLSOUDP_LEN,       VR_VXLAN_ALL_LEN,
				 VR_FRAME_MPLSOGRE_LEN, VR_FRAME_MPLSOUDP_LEN, VR_WORD_MPLSOGRE_LEN,
				 VR_WORD_MPLSOUDP_LEN};

	change(frame, bytes, VR_ETH_LEN);
	for (size_t i = 0; i < sizeof(wraps); i++) {
		change(frame, bytes, VR_ETH_LEN + VR_IP4_LEN + wraps[i]);
		change(frame, bytes, VR_ETH_LEN + VR_IP6_LEN + wraps[i]);
	}
}

/* A piece of a packet, so far from the start of its buffer. */
static struct rte_mbuf *piece(uint16_t front, const uint8_t *data, uint16_t bytes)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(stand.buffers);

	STAND_CHECK(m && front + bytes <= m->buf_len);
	m->data_off = front;
	m->data_len = bytes;
	m->pkt_len = bytes;
	memcpy(rte_pktmbuf_mtod(m, void *), data, bytes);
	return m;
}

/* A packet, in several pieces where one cannot hold it: then the first is full, as drivers give
 * them. */
static struct rte_mbuf *packet(const struct shape *s, const uint8_t *frame, uint32_t bytes)
{
	uint32_t front = s->front == 255 ? WHOLE - RTE_MIN(bytes, (uint32_t)WHOLE) : s->front;
	uint32_t done = RTE_MIN(bytes, WHOLE - front);
	struct rte_mbuf *m = piece((uint16_t)front, frame, (uint16_t)done);

	while (done < bytes) {
		uint32_t next = RTE_MIN((uint32_t)WHOLE, bytes - done);

		STAND_CHECK(rte_pktmbuf_chain(m, piece(0, frame + done, (uint16_t)next)) == 0);
		done += next;
	}
	m->ol_flags = s->marks;
	m->tso_segsz = s->segment;
	return m;
}

/* How many bytes a packet may have once something is done to it: an answer may be longer, and a
 * short frame that was in a tunnel is filled. */
static uint32_t most(const struct poll_port *in, const struct rte_mbuf *m)
{
	const struct vr_tables *t = stand.core.tables;
	struct vr_frame f = {.data = rte_pktmbuf_mtod(m, const uint8_t *), .length = m->pkt_len};
	struct vr_verdict v = {0};

	f.end = f.data + m->data_len;
	if (in->vif == POLL_FABRIC)
		vr_decide_fabric(t, t->node, &f, &v);
	else
		vr_decide_vif(t, &f, vr_vif_at(t, in->vif), &v);
	if (v.op == VR_OP_ND)
		return VR_ADVERTISED_LEN;
	if ((v.op == VR_OP_BRIDGE_DECAP || v.op == VR_OP_FLOOD) && v.pop)
		return v.pop + VR_FRAME_LEAST;
	return 0;
}

/* Poisons what is behind a packet of one piece, and then leaves what may be written there. Buffers
 * come from the pool in turn, so none of these is used again before it is whole. */
static void fence(const struct poll_port *in, struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *last = (uint8_t *)m->buf_addr + m->buf_len;
	uint32_t room;

	if (m->nb_segs > 1)
		return;
	ASAN_POISON_MEMORY_REGION(data + m->data_len, (size_t)(last - data) - m->data_len);
	room = RTE_MIN(most(in, m), (uint32_t)(last - data));
	if (room > m->data_len)
		ASAN_UNPOISON_MEMORY_REGION(data + m->data_len, room - m->data_len);
}

/* The packets of one port that follow each other in an input. */
struct burst {
	const struct poll_port *in;
	uint16_t count;
	struct rte_mbuf *mbufs[POLL_BURST];
	void *fenced[POLL_BURST];
};

static void end_burst(struct burst *b)
{
	if (b->count)
		stand_forward(b->in->vif, b->mbufs, b->count);
	for (uint16_t i = 0; i < b->count; i++)
		ASAN_UNPOISON_MEMORY_REGION(b->fenced[i], WHOLE);
	b->count = 0;
}

/* How many buffers a packet may take, if it is cut. */
static uint32_t cost(const struct shape *s, size_t bytes)
{
	uint32_t length = (uint32_t)bytes + s->more;

	return 2 + length / WHOLE + length / (s->segment ? s->segment : LONGEST);
}

static void add(struct burst *b, const struct shape *s, const uint8_t *data, size_t bytes)
{
	static uint8_t frame[LONGEST];
	const struct poll_port *in = stand.ports.all[s->port % stand.ports.count];
	uint32_t length = RTE_MIN((uint32_t)bytes + s->more, (uint32_t)LONGEST);
	struct rte_mbuf *m;

	if (in != b->in || b->count == POLL_BURST)
		end_burst(b);
	b->in = in;
	memset(frame, 0, length);
	memcpy(frame, data, bytes);
	if (s->flags & UNFINISHED)
		at_headers(unfinish, frame, length);
	if (s->flags & REPAIR)
		at_headers(repair, frame, length);
	m = packet(s, frame, length);
	if (s->flags & UNFINISHED)
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	b->fenced[b->count] = m->buf_addr;
	b->mbufs[b->count++] = m;
	fence(in, m);
}

static void add_up(struct vr_count *sum, const struct vr_count *c)
{
	sum->packets += c->packets;
	sum->segments += c->segments;
	sum->bytes += c->bytes;
}

/* received = forwarded + answered + passed + drops, in packets, segments and bytes. */
static void check_account(const struct vr_totals *t, uint64_t packets)
{
	struct vr_count in = {0}, out = {0};

	add_up(&in, &t->received_vif);
	add_up(&in, &t->received_fabric);
	add_up(&out, &t->forwarded);
	add_up(&out, &t->answered);
	add_up(&out, &t->passed);
	for (uint32_t i = 0; i < VR_DROP_COUNT; i++)
		add_up(&out, &t->drops[i]);
	STAND_CHECK(in.packets == packets && out.packets == packets);
	STAND_CHECK(in.segments == out.segments && in.bytes == out.bytes);
}

static void set_ports(const struct head *h)
{
	stand.room = h->room == 255 ? UINT32_MAX : h->room;
	for (uint32_t i = 0; i < stand.ports.count; i++)
		stand.ports.all[i]->takes = h->takes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct burst b;
	static uint64_t count;
	uint32_t spent = 0;
	struct shape s;

	if (size < sizeof(struct head))
		return -1;
	set_ports((const struct head *)data);
	for (size_t at = sizeof(struct head); at + sizeof(s) <= size; count++) {
		memcpy(&s, data + at, sizeof(s));
		at += sizeof(s);
		s.bytes = (uint16_t)RTE_MIN((size_t)s.bytes, size - at);
		spent += cost(&s, s.bytes);
		if (spent > BUDGET)
			break;
		add(&b, &s, data + at, s.bytes);
		at += s.bytes;
	}
	end_burst(&b);
	stand_forget();
	forget_flows();
	check_account(&stand.core.account->totals, count);
	return 0;
}
