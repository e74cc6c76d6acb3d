//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "ports.h"

#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "device.h"

#define NAME_LEN 15    /* of an interface: IFNAMSIZ in linux/if.h */
#define SOCKET_LEN 107 /* of a Unix socket: unix(7) */

static struct poll_ports *now;
static uint32_t cores;

const struct poll_ports *poll_ports_now(void)
{
	return __atomic_load_n(&now, __ATOMIC_ACQUIRE);
}

int poll_ports_begin(uint32_t count)
{
	cores = count;
	now = calloc(1, sizeof(*now));
	return now && !poll_device_begin(count) ? 0 : -1;
}

/* Gives each core the queues that are its own. */
static int share_out(struct poll_ports *next)
{
	struct poll_source *at;
	uint32_t all = 0;

	for (uint32_t i = 0; i < next->count; i++)
		all += next->all[i]->receive;
	at = next->room = calloc(all + 1, sizeof(*at));
	if (!at)
		return -1;
	for (uint32_t core = 0; core < cores; core++) {
		next->sources[core] = (struct poll_sources){.all = at};
		for (uint32_t i = 0; i < next->count; i++)
			for (uint16_t q = 0; q < next->all[i]->receive; q++)
				if (next->all[i]->queues[q].core == core)
					*at++ = (struct poll_source){next->all[i], q};
		next->sources[core].count = (uint32_t)(at - next->sources[core].all);
	}
	return 0;
}

/* Gives the cores another list, and the old one back once they have left it. */
static void publish(struct poll_ports *next)
{
	struct poll_ports *old = now;

	__atomic_store_n(&now, next, __ATOMIC_SEQ_CST);
	poll_wait_round();
	free(old->room);
	free(old);
}

/* A port's queues go to different cores, and the first to the one that has least to ask. It stays
 * there: a queue that changed hands would have two cores for a moment. */
static void choose_cores(struct poll_port *p)
{
	uint32_t least = 0;

	for (uint32_t core = 1; core < cores; core++)
		if (now->sources[core].count < now->sources[least].count)
			least = core;
	for (uint32_t q = 0; q < p->receive; q++)
		p->queues[q].core = (least + q) % cores;
}

/* Names come from a configuration: what means something to DPDK's own texts must not be in them. */
static int plain(const char *at, size_t most)
{
	size_t length = strlen(at);

	if (length == 0 || length > most)
		return 0;
	for (size_t i = 0; i < length; i++)
		if (at[i] <= ' ' || at[i] >= 127 || strchr(",=[]\\\"'", at[i]))
			return 0;
	return 1;
}

static int has_name(enum poll_kind kind)
{
	return kind == POLL_PACKET || kind == POLL_XDP || kind == POLL_TAP;
}

static void drop_port(struct poll_port *p)
{
	if (p)
		rte_free(p->lanes);
	free(p);
}

static struct poll_port *new_port(uint32_t vif)
{
	struct poll_port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->vif = vif;
	p->lanes = rte_calloc("lanes", cores, sizeof(*p->lanes), RTE_CACHE_LINE_SIZE);
	if (p->lanes)
		return p;
	drop_port(p);
	return NULL;
}

const char *poll_port_add(const struct poll_place *place)
{
	uint32_t vif = place->vif;
	struct poll_port *p;
	struct poll_ports *next;
	const char *bad;

	if (vif >= POLL_PORTS)
		return "a vif's number that is too large";
	if (now->of[vif])
		return "the vif has a port already";
	if (!plain(place->at, has_name(place->kind) ? NAME_LEN : SOCKET_LEN))
		return "a name with a character that cannot be in one, or too long";
	p = new_port(vif);
	next = malloc(sizeof(*next));
	bad = p && next ? poll_device_open(p, place) : "no memory";
	if (!bad) {
		choose_cores(p);
		*next = *now;
		next->all[next->count++] = p;
		next->of[vif] = p;
		if (share_out(next)) {
			poll_device_close(p);
			bad = "no memory";
		}
	}
	if (bad) {
		drop_port(p);
		free(next);
		return bad;
	}
	publish(next);
	return NULL;
}

const char *poll_port_link(uint32_t vif, int *up)
{
	struct poll_port *p = vif < POLL_PORTS ? now->of[vif] : NULL;

	return p ? poll_device_link(p, up) : "the vif has no port";
}

void poll_ports_end(void)
{
	for (uint32_t i = 0; i < now->count; i++) {
		poll_device_close(now->all[i]);
		drop_port(now->all[i]);
	}
	now->count = 0;
}

const char *poll_port_remove(uint32_t vif)
{
	struct poll_port *p = vif < POLL_PORTS ? now->of[vif] : NULL;
	struct poll_ports *next = p ? malloc(sizeof(*next)) : NULL;

	if (!p)
		return "the vif has no port";
	if (!next)
		return "no memory";
	*next = *now;
	next->of[vif] = NULL;
	for (uint32_t i = 0; i < next->count; i++)
		if (next->all[i] == p)
			next->all[i] = next->all[--next->count];
	if (share_out(next)) {
		free(next);
		return "no memory";
	}
	publish(next);
	poll_device_close(p);
	drop_port(p);
	return NULL;
}
