/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests: a NIC's embedded switch. Loaded before DPDK's own library (LD_PRELOAD), it takes the
 * calls of rte_flow, and does what the rules say with the packets that ports receive, before the
 * process sees them. It has a rule's words only, as a device has: it knows nothing of the tables.
 *
 *	EMBEDDED_SWITCH_LOG=FILE    gets a line for each rule that is created or destroyed
 *	EMBEDDED_SWITCH_ROOM=N      it has room for so many rules
 *	EMBEDDED_SWITCH_REFUSES=N   it refuses the Nth rule that it is asked for, however often
 *	EMBEDDED_SWITCH_ALONE=1     its ports are in no switch: rules may drop, but not lead to a
 *port
 */
#define _GNU_SOURCE
#define ALLOW_EXPERIMENTAL_API
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#define DOMAIN 7
#define PORTS 4
#define ITEMS 16
#define HEADER 64

struct item {
	enum rte_flow_item_type type;
	uint32_t bytes; /* so that nothing lies between the fields: refused compares whole items */
	uint8_t spec[HEADER], mask[HEADER];
};

struct rte_flow {
	struct rte_flow *next;
	unsigned int number;
	uint16_t from, to;
	struct item items[ITEMS];
	int count, drop, dec_ttl;
	size_t off, on;
	uint8_t header[128];
	uint64_t packets, bytes;
};

static struct rte_flow *flows;
static rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
static unsigned int asked, has;
static eth_rx_burst_t received[PORTS];

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static void note(const char *format, ...)
{
	const char *path = getenv("EMBEDDED_SWITCH_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	va_list args;

	if (!f)
		return;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

static size_t size_of(enum rte_flow_item_type type)
{
	switch (type) {
	case RTE_FLOW_ITEM_TYPE_ETH:
		return 14;
	case RTE_FLOW_ITEM_TYPE_IPV4:
	case RTE_FLOW_ITEM_TYPE_TCP:
		return 20;
	case RTE_FLOW_ITEM_TYPE_IPV6:
		return sizeof(struct rte_flow_item_ipv6);
	case RTE_FLOW_ITEM_TYPE_UDP:
	case RTE_FLOW_ITEM_TYPE_ICMP:
	case RTE_FLOW_ITEM_TYPE_VXLAN:
		return 8;
	case RTE_FLOW_ITEM_TYPE_GRE:
	case RTE_FLOW_ITEM_TYPE_MPLS:
		return 4;
	case RTE_FLOW_ITEM_TYPE_INTEGRITY:
		return sizeof(struct rte_flow_item_integrity);
	default:
		return 0;
	}
}

static int refuse(struct rte_flow_error *error, int code, const char *why)
{
	return rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, why);
}

static int read_pattern(struct rte_flow *f, const struct rte_flow_item *p,
			struct rte_flow_error *error)
{
	for (; p->type != RTE_FLOW_ITEM_TYPE_END; p++) {
		struct item *i = &f->items[f->count];

		if (p->type == RTE_FLOW_ITEM_TYPE_REPRESENTED_PORT) {
			f->from = ((const struct rte_flow_item_ethdev *)p->spec)->port_id;
			continue;
		}
		*i = (struct item){.type = p->type, .bytes = size_of(p->type)};
		if (!i->bytes || i->bytes > HEADER || ++f->count == ITEMS)
			return refuse(error, ENOTSUP, "an item that this switch does not know");
		if (!p->spec)
			continue;
		memcpy(i->spec, p->spec, i->bytes);
		memcpy(i->mask, p->mask, i->bytes);
	}
	return 0;
}

static int read_actions(struct rte_flow *f, const struct rte_flow_action *a,
			struct rte_flow_error *error)
{
	int counts = 0, ends = 0;

	for (; a->type != RTE_FLOW_ACTION_TYPE_END; a++) {
		const struct rte_flow_action_raw_encap *on = a->conf;
		const struct rte_flow_action_raw_decap *off = a->conf;
		const struct rte_flow_action_ethdev *out = a->conf;

		if (a->type == RTE_FLOW_ACTION_TYPE_COUNT) {
			counts = 1;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_DROP) {
			f->drop = ends = 1;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_DEC_TTL) {
			f->dec_ttl = 1;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_RAW_DECAP) {
			f->off = off->size;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_RAW_ENCAP && on->size <= 128) {
			f->on = on->size;
			memcpy(f->header, on->data, on->size);
		} else if (a->type == RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT) {
			f->to = out->port_id;
			ends = 1;
		} else {
			return refuse(error, ENOTSUP, "an action that this switch does not know");
		}
	}
	return counts && ends ? 0 : refuse(error, EINVAL, "a rule must count, and have an end");
}

static int read_rule(struct rte_flow *f, uint16_t port, const struct rte_flow_attr *attr,
		     const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
		     struct rte_flow_error *error)
{
	int bad;

	*f = (struct rte_flow){.from = port};
	bad = read_pattern(f, pattern, error);
	if (!bad)
		bad = read_actions(f, actions, error);
	if (bad)
		return bad;
	if (attr->transfer == !!setting("EMBEDDED_SWITCH_ALONE", 0))
		return refuse(error, ENOTSUP,
			      attr->transfer ? "transfer is not supported" : "use transfer");
	if (!attr->transfer && !f->drop)
		return refuse(error, ENOTSUP, "only a switch leads to another port");
	return 0;
}

int rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
		      const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
		      struct rte_flow_error *error)
{
	struct rte_flow f;

	return read_rule(&f, port, attr, pattern, actions, error);
}

/* refused tells of the rule that is refused, by what it matches. Rules are asked for anew whenever
 * tables change, as they do once a neighbour is known: its number alone would let the same rule
 * pass then. */
static bool refused(const struct rte_flow *f)
{
	static struct rte_flow it;

	if (f->number == setting("EMBEDDED_SWITCH_REFUSES", 0))
		it = *f;
	return it.number && it.from == f->from && it.count == f->count &&
	       !memcmp(it.items, f->items, sizeof(it.items));
}

struct rte_flow *rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
				 const struct rte_flow_item pattern[],
				 const struct rte_flow_action actions[],
				 struct rte_flow_error *error)
{
	struct rte_flow *f = malloc(sizeof(*f));

	if (!f || read_rule(f, port, attr, pattern, actions, error)) {
		free(f);
		return NULL;
	}
	f->number = ++asked;
	if (refused(f) || has >= setting("EMBEDDED_SWITCH_ROOM", 100000)) {
		refuse(error, ENOSPC, "the table of the embedded switch is full");
		free(f);
		return NULL;
	}
	has++;
	rte_spinlock_lock(&lock);
	f->next = flows;
	flows = f;
	rte_spinlock_unlock(&lock);
	note("created %u\n", f->number);
	return f;
}

int rte_flow_destroy(uint16_t port, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct rte_flow **at;

	RTE_SET_USED(port);
	rte_spinlock_lock(&lock);
	for (at = &flows; *at && *at != flow; at = &(*at)->next)
		;
	if (*at)
		*at = flow->next;
	rte_spinlock_unlock(&lock);
	has--;
	note("destroyed %u after %lu packets\n", flow->number, (unsigned long)flow->packets);
	free(flow);
	return error ? 0 : 0;
}

int rte_flow_query(uint16_t port, struct rte_flow *flow, const struct rte_flow_action *action,
		   void *data, struct rte_flow_error *error)
{
	struct rte_flow_query_count *c = data;

	RTE_SET_USED(port);
	if (action->type != RTE_FLOW_ACTION_TYPE_COUNT)
		return refuse(error, ENOTSUP, "only counters can be asked for");
	rte_spinlock_lock(&lock);
	c->hits_set = c->bytes_set = 1;
	c->hits = flow->packets;
	c->bytes = flow->bytes;
	rte_spinlock_unlock(&lock);
	return 0;
}

int rte_flow_pick_transfer_proxy(uint16_t port, uint16_t *proxy, struct rte_flow_error *error)
{
	RTE_SET_USED(error);
	*proxy = port;
	return 0;
}

int rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	int (*real)(uint16_t, struct rte_eth_dev_info *) =
	    (int (*)(uint16_t, struct rte_eth_dev_info *))dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
	int failed = real(port, info);

	if (!setting("EMBEDDED_SWITCH_ALONE", 0))
		info->switch_info.domain_id = DOMAIN;
	return failed;
}

/* The lengths and the checksum that "integrity" asks for. */
static int sound(const uint8_t *ip, size_t left)
{
	const struct rte_ipv4_hdr *four = (const void *)ip;
	size_t head = (ip[0] & 15) * 4U, all;

	if (ip[0] >> 4 == 6)
		return rte_be_to_cpu_16(((const struct rte_ipv6_hdr *)ip)->payload_len) + 40U <=
		       left;
	all = rte_be_to_cpu_16(four->total_length);
	return head >= 20 && head <= left && all >= head && all <= left &&
	       rte_raw_cksum(ip, head) == 0xffff;
}

static int equal(const struct item *i, const uint8_t *at, size_t bytes)
{
	for (size_t b = 0; b < bytes; b++)
		if ((at[b] ^ i->spec[b]) & i->mask[b])
			return 0;
	return 1;
}

/* Whether a frame is one of the rule's: header after header. */
static int matches(const struct rte_flow *f, const uint8_t *frame, size_t length)
{
	uint32_t level = 0, wanted = 0;
	size_t at = 0;

	for (int n = 0; n < f->count; n++) {
		const struct item *i = &f->items[n];
		size_t bytes = RTE_MIN(i->bytes, (size_t)40);
		int ip = i->type == RTE_FLOW_ITEM_TYPE_IPV4 || i->type == RTE_FLOW_ITEM_TYPE_IPV6;

		if (i->type == RTE_FLOW_ITEM_TYPE_INTEGRITY) {
			wanted |= 1U << ((const struct rte_flow_item_integrity *)i->spec)->level;
			continue;
		}
		if (length - at < bytes || !equal(i, frame + at, bytes))
			return 0;
		if (ip && frame[at] >> 4 != (i->type == RTE_FLOW_ITEM_TYPE_IPV4 ? 4 : 6))
			return 0;
		if (ip && wanted & 1U << ++level && !sound(frame + at, length - at))
			return 0;
		at += i->type == RTE_FLOW_ITEM_TYPE_IPV4 ? (frame[at] & 15) * 4U : bytes;
		if (at > length)
			return 0;
	}
	return 1;
}

/* What a device fills in of headers that it pushes. */
static void fill(uint8_t *frame, size_t length, size_t pushed)
{
	struct rte_ipv4_hdr *four = (void *)(frame + 14);
	struct rte_ipv6_hdr *six = (void *)(frame + 14);
	struct rte_udp_hdr *udp = (void *)(frame + 14 + 20);
	int ip6 = frame[12] == 0x86, is_udp;

	if (pushed <= 14)
		return;
	is_udp = (ip6 ? six->proto : four->next_proto_id) == IPPROTO_UDP;
	if (ip6) {
		six->payload_len = rte_cpu_to_be_16((uint16_t)(length - 14 - 40));
		udp = (void *)(frame + 14 + 40);
	} else {
		four->total_length = rte_cpu_to_be_16((uint16_t)(length - 14));
		four->hdr_checksum = 0;
		four->hdr_checksum = rte_ipv4_cksum(four);
	}
	if (is_udp)
		udp->dgram_len = rte_cpu_to_be_16((uint16_t)(length - ((uint8_t *)udp - frame)));
}

static void dec_ttl(uint8_t *ip)
{
	struct rte_ipv4_hdr *four = (void *)ip;

	if (ip[0] >> 4 == 6) {
		ip[7]--;
		return;
	}
	four->time_to_live--;
	four->hdr_checksum = 0;
	four->hdr_checksum = rte_ipv4_cksum(four);
}

/* Does what a rule says with a packet, which is gone then. */
static void run(struct rte_flow *f, struct rte_mbuf *m)
{
	uint8_t *at;

	f->packets++;
	f->bytes += m->pkt_len;
	if (f->drop) {
		rte_pktmbuf_free(m);
		return;
	}
	if (f->dec_ttl)
		dec_ttl(rte_pktmbuf_mtod_offset(m, uint8_t *, 14));
	rte_pktmbuf_adj(m, (uint16_t)f->off);
	at = (uint8_t *)rte_pktmbuf_prepend(m, (uint16_t)f->on);
	if (at) {
		memcpy(at, f->header, f->on);
		fill(at, m->pkt_len, f->on);
	}
	if (!at || !rte_eth_tx_burst(f->to, 0, &m, 1))
		rte_pktmbuf_free(m);
}

static uint16_t receive(uint16_t port, void *queue, struct rte_mbuf **mbufs, uint16_t most)
{
	uint16_t count = received[port](queue, mbufs, most), kept = 0;

	rte_spinlock_lock(&lock);
	for (uint16_t i = 0; i < count; i++) {
		struct rte_flow *f = flows;

		while (f && (f->from != port || !matches(f, rte_pktmbuf_mtod(mbufs[i], uint8_t *),
							 mbufs[i]->data_len)))
			f = f->next;
		if (f)
			run(f, mbufs[i]);
		else
			mbufs[kept++] = mbufs[i];
	}
	rte_spinlock_unlock(&lock);
	return kept;
}

#define RECEIVE(port)                                                                              \
	static uint16_t receive##port(void *queue, struct rte_mbuf **mbufs, uint16_t most)         \
	{                                                                                          \
		return receive(port, queue, mbufs, most);                                          \
	}
RECEIVE(0)
RECEIVE(1)
RECEIVE(2)
RECEIVE(3)

int rte_eth_dev_start(uint16_t port)
{
	static const eth_rx_burst_t ours[PORTS] = {receive0, receive1, receive2, receive3};
	int (*real)(uint16_t) = (int (*)(uint16_t))dlsym(RTLD_NEXT, "rte_eth_dev_start");
	int failed = real(port);

	if (!failed && port < PORTS) {
		received[port] = rte_eth_fp_ops[port].rx_pkt_burst;
		rte_eth_fp_ops[port].rx_pkt_burst = ours[port];
	}
	return failed;
}
