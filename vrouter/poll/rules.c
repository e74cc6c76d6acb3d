//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_flow_pick_transfer_proxy, which is one until DPDK 23.11 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "ports.h"

/* A rule that a device has. */
struct given {
	struct rte_flow *flow;
	uint16_t device;
};

/* What the agent has handed over; there is one such file, or none. */
static struct {
	struct poll_rules *file;
	size_t bytes;
	struct given *given;
} rules;

/* What a header is to rte_flow. */
union item {
	struct rte_flow_item_ethdev port;
	struct rte_flow_item_integrity integrity;
	struct rte_flow_item_eth eth;
	struct rte_flow_item_ipv4 ipv4;
	struct rte_flow_item_ipv6 ipv6;
	struct rte_flow_item_tcp tcp;
	struct rte_flow_item_udp udp;
	struct rte_flow_item_icmp icmp;
	struct rte_flow_item_gre gre;
	struct rte_flow_item_mpls mpls;
	struct rte_flow_item_vxlan vxlan;
};

/* Each of the structures begins with the header itself. */
static const struct {
	enum rte_flow_item_type type;
	size_t bytes;
} kinds[POLL_ITEM_KINDS] = {
    [POLL_ITEM_INTEGRITY] = {RTE_FLOW_ITEM_TYPE_INTEGRITY, 0},
    [POLL_ITEM_ETH] = {RTE_FLOW_ITEM_TYPE_ETH, 14},
    [POLL_ITEM_IPV4] = {RTE_FLOW_ITEM_TYPE_IPV4, 20},
    [POLL_ITEM_IPV6] = {RTE_FLOW_ITEM_TYPE_IPV6, 40},
    [POLL_ITEM_TCP] = {RTE_FLOW_ITEM_TYPE_TCP, 20},
    [POLL_ITEM_UDP] = {RTE_FLOW_ITEM_TYPE_UDP, 8},
    [POLL_ITEM_ICMP] = {RTE_FLOW_ITEM_TYPE_ICMP, 8},
    [POLL_ITEM_GRE] = {RTE_FLOW_ITEM_TYPE_GRE, 4},
    [POLL_ITEM_MPLS] = {RTE_FLOW_ITEM_TYPE_MPLS, 4},
    [POLL_ITEM_VXLAN] = {RTE_FLOW_ITEM_TYPE_VXLAN, 8},
};

/* A rule in DPDK's words, with the room that they point to. */
struct words {
	struct rte_flow_attr attr;
	struct rte_flow_item items[POLL_RULE_ITEMS + 2];
	union item spec[POLL_RULE_ITEMS + 1];
	union item mask[POLL_RULE_ITEMS + 1];
	struct rte_flow_action actions[6];
	struct rte_flow_action_raw_decap off;
	struct rte_flow_action_raw_encap on;
	struct rte_flow_action_ethdev out;
	uint32_t item_count;
	uint32_t action_count;
};

static const struct rte_flow_action count_action = {.type = RTE_FLOW_ACTION_TYPE_COUNT};

static const char *said(const struct rte_flow_error *error, int failed)
{
	return error->message ? error->message : rte_strerror(failed < 0 ? -failed : rte_errno);
}

/* The device behind a vif, or what is wrong. */
static const char *device_of(uint32_t vif, uint16_t *device)
{
	const struct poll_port *p = vif < POLL_PORTS ? poll_ports_now()->of[vif] : NULL;

	if (!p)
		return "the vif has no port";
	if (!p->name[0])
		return "the port is no device of DPDK's, and only those take rules";
	*device = p->device;
	return NULL;
}

static uint16_t switch_of(uint16_t device)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(device, &info) ? RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID
						   : info.switch_info.domain_id;
}

/* A driver without rte_flow says so to any rule (ENOSYS, rte_flow_ops_get). What else it says is
 * about this rule, not about others. */
const char *poll_rules_offers(uint32_t vif, const char **says)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_item items[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
					      {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action actions[] = {
	    count_action, {.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error = {0};
	uint16_t device;
	const char *bad = device_of(vif, &device);
	int failed;

	if (bad)
		return bad;
	failed = rte_flow_validate(device, &attr, items, actions, &error);
	if (failed == -ENOSYS)
		return "its driver takes no rules (rte_flow)";
	*says =
	    switch_of(device) == RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID ? "ok alone" : "ok switch";
	return NULL;
}

static void add_item(struct words *w, enum rte_flow_item_type type, int any)
{
	uint32_t i = w->item_count++;

	w->items[i] = (struct rte_flow_item){.type = type};
	if (any)
		return;
	w->items[i].spec = &w->spec[i];
	w->items[i].mask = &w->mask[i];
}

static void add_header(struct words *w, const struct poll_rule_item *item)
{
	static const uint8_t nothing[POLL_RULE_FIELD];
	union item *spec = &w->spec[w->item_count], *mask = &w->mask[w->item_count];
	size_t bytes = kinds[item->kind].bytes;
	int any = !item->extra && !memcmp(item->mask, nothing, bytes);

	if (item->kind == POLL_ITEM_INTEGRITY) {
		spec->integrity.level = mask->integrity.level = item->extra;
		memcpy(&spec->integrity.value, item->spec, sizeof(uint64_t));
		memcpy(&mask->integrity.value, item->mask, sizeof(uint64_t));
	} else {
		memcpy(spec, item->spec, bytes);
		memcpy(mask, item->mask, bytes);
	}
	if (item->kind == POLL_ITEM_IPV6)
		mask->ipv6.has_frag_ext = item->extra & 1;
	add_item(w, kinds[item->kind].type, any);
}

static void add_action(struct words *w, enum rte_flow_action_type type, const void *conf)
{
	w->actions[w->action_count++] = (struct rte_flow_action){.type = type, .conf = conf};
}

/* What is counted is counted first: frames as they came. */
static void add_actions(struct words *w, struct poll_rule *r)
{
	w->off = (struct rte_flow_action_raw_decap){.data = r->off, .size = r->decap};
	w->on = (struct rte_flow_action_raw_encap){.data = r->on, .size = r->encap};
	add_action(w, RTE_FLOW_ACTION_TYPE_COUNT, NULL);
	if (r->to == POLL_RULE_DROPS) {
		add_action(w, RTE_FLOW_ACTION_TYPE_DROP, NULL);
	} else {
		if (r->dec_ttl)
			add_action(w, RTE_FLOW_ACTION_TYPE_DEC_TTL, NULL);
		if (r->decap)
			add_action(w, RTE_FLOW_ACTION_TYPE_RAW_DECAP, &w->off);
		if (r->encap)
			add_action(w, RTE_FLOW_ACTION_TYPE_RAW_ENCAP, &w->on);
		add_action(w, RTE_FLOW_ACTION_TYPE_REPRESENTED_PORT, &w->out);
	}
	add_action(w, RTE_FLOW_ACTION_TYPE_END, NULL);
}

static const char *check(const struct poll_rule *r)
{
	if (r->items > POLL_RULE_ITEMS || r->decap > POLL_RULE_HEADER ||
	    r->encap > POLL_RULE_HEADER)
		return "a rule with more in it than there is room for";
	for (uint32_t i = 0; i < r->items; i++)
		if (r->item[i].kind >= POLL_ITEM_KINDS)
			return "a header of a kind that there is not";
	return NULL;
}

/* Transfer rules are told to the port that its switch wants them told to. */
static const char *translate(struct words *w, struct poll_rule *r, uint16_t *device)
{
	struct rte_flow_error error = {0};
	const char *bad = check(r);
	uint16_t from;
	int failed;

	if (!bad)
		bad = device_of(r->from, &from);
	if (!bad && r->to != POLL_RULE_DROPS)
		bad = device_of(r->to, &w->out.port_id);
	if (bad)
		return bad;
	*device = from;
	w->attr.transfer = switch_of(from) != RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID;
	w->attr.ingress = !w->attr.transfer;
	if (w->attr.transfer) {
		failed = rte_flow_pick_transfer_proxy(from, device, &error);
		if (failed)
			return said(&error, failed);
		w->spec[0].port.port_id = from;
		w->mask[0].port.port_id = UINT16_MAX;
		add_item(w, RTE_FLOW_ITEM_TYPE_REPRESENTED_PORT, 0);
	}
	if (r->to != POLL_RULE_DROPS &&
	    (!w->attr.transfer || switch_of(w->out.port_id) != switch_of(from)))
		return "the two ports are not of one embedded switch";
	for (uint32_t i = 0; i < r->items; i++)
		add_header(w, &r->item[i]);
	add_item(w, RTE_FLOW_ITEM_TYPE_END, 1);
	add_actions(w, r);
	return NULL;
}

static const char *count(struct poll_rule *r, const struct given *g)
{
	struct rte_flow_query_count counted = {0};
	struct rte_flow_error error = {0};
	int failed = rte_flow_query(g->device, g->flow, &count_action, &counted, &error);

	if (failed)
		return said(&error, failed);
	if (!counted.hits_set || !counted.bytes_set)
		return "its device does not count both packets and bytes";
	/* The agent reads them at any time. */
	__atomic_store_n(&r->bytes, counted.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&r->packets, counted.hits, __ATOMIC_RELEASE);
	return NULL;
}

/* What cannot be counted must not be forwarded: packets have one account. */
static const char *give(struct poll_rule *r, struct given *g)
{
	struct words w = {0};
	struct rte_flow_error error = {0};
	const char *bad = translate(&w, r, &g->device);
	int failed;

	if (bad)
		return bad;
	failed = rte_flow_validate(g->device, &w.attr, w.items, w.actions, &error);
	if (failed)
		return said(&error, failed);
	g->flow = rte_flow_create(g->device, &w.attr, w.items, w.actions, &error);
	if (!g->flow)
		return said(&error, 0);
	bad = count(r, g);
	if (bad && !rte_flow_destroy(g->device, g->flow, &error))
		g->flow = NULL;
	return bad;
}

static void refuse(struct poll_rule *r, const char *why)
{
	snprintf(r->why, sizeof(r->why), "%s", why);
	r->state = POLL_RULE_REFUSED;
}

static const char *map(int fd)
{
	struct stat st;
	struct poll_rules *at;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(*at))
		return "there is no file of rules";
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return "the file of rules cannot be mapped";
	if (at->magic == POLL_RULES_MAGIC && at->record == sizeof(at->all[0]) && at->count > 0 &&
	    at->count <= POLL_RULES_MOST &&
	    (uint64_t)st.st_size >= sizeof(*at) + (uint64_t)at->count * at->record)
		rules.given = calloc(at->count, sizeof(*rules.given));
	if (!rules.given) {
		munmap(at, (size_t)st.st_size);
		return "the file holds no rules, or not as many as it says";
	}
	rules.file = at;
	rules.bytes = (size_t)st.st_size;
	return NULL;
}

const char *poll_rules_give(int fd)
{
	const char *bad = rules.file ? "there are rules already; withdraw them first" : map(fd);

	if (bad)
		return bad;
	for (uint32_t i = 0; i < rules.file->count; i++) {
		struct poll_rule *r = &rules.file->all[i];
		const char *why = give(r, &rules.given[i]);

		if (why)
			refuse(r, why);
		else
			r->state = POLL_RULE_GIVEN;
	}
	return NULL;
}

const char *poll_rules_count(void)
{
	const char *bad = NULL;

	for (uint32_t i = 0; rules.file && i < rules.file->count; i++)
		if (rules.given[i].flow) {
			const char *why = count(&rules.file->all[i], &rules.given[i]);

			bad = why ? why : bad;
		}
	return bad;
}

/* Counted last before it goes: what a device forwards between the two is in no account. */
static const char *take(uint32_t i, const char *why)
{
	struct given *g = &rules.given[i];
	struct rte_flow_error error = {0};
	int failed;

	if (!g->flow)
		return NULL;
	count(&rules.file->all[i], g);
	failed = rte_flow_destroy(g->device, g->flow, &error);
	if (failed)
		return said(&error, failed);
	g->flow = NULL;
	refuse(&rules.file->all[i], why);
	return NULL;
}

const char *poll_rules_withdraw(void)
{
	const char *bad = NULL;

	if (!rules.file)
		return NULL;
	for (uint32_t i = 0; i < rules.file->count; i++) {
		const char *why = take(i, "withdrawn");

		bad = why ? why : bad;
	}
	if (bad)
		return bad;
	munmap(rules.file, rules.bytes);
	free(rules.given);
	memset(&rules, 0, sizeof(rules));
	return NULL;
}

void poll_rules_forget(uint32_t vif)
{
	for (uint32_t i = 0; rules.file && i < rules.file->count; i++)
		if (rules.file->all[i].from == vif || rules.file->all[i].to == vif)
			take(i, "its port has gone");
}
