//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "hand.h"

#include <stdio.h>

#include <rte_lcore.h>
#include <rte_ring.h>

#define ROOM 256 /* of a ring, a power of two, of which one is never used */

#define TCP 6
#define UDP 17

static struct rte_ring *rings[POLL_CORES][POLL_CORES]; /* who hands over, to whom */
static uint32_t cores;				       /* 0: nobody hands over */

int poll_hand_begin(uint32_t count)
{
	char name[RTE_RING_NAMESIZE];

	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++) {
			if (from == to)
				continue;
			snprintf(name, sizeof(name), "hand%u-%u", from, to);
			rings[from][to] = rte_ring_create(name, ROOM, SOCKET_ID_ANY,
							  RING_F_SP_ENQ | RING_F_SC_DEQ);
			if (!rings[from][to])
				return -1;
		}
	cores = count;
	return 0;
}

int poll_hands(void)
{
	return cores > 0;
}

static int hands_at(const struct poll_port *port)
{
	return port->receive < cores;
}

uint16_t poll_hand_room(const struct poll_core *c, const struct poll_port *port)
{
	uint32_t room = POLL_BURST;

	if (!hands_at(port))
		return POLL_BURST;
	for (uint32_t to = 0; to < cores; to++)
		if (to != c->index)
			room = RTE_MIN(room, rte_ring_free_count(rings[c->index][to]));
	return (uint16_t)room;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
	return hash ^ hash >> 31;
}

static uint64_t ports_at(const uint8_t *at, const uint8_t *end, uint8_t protocol)
{
	return (protocol == TCP || protocol == UDP) && at + 4 <= end ? vr_get32(at) : 0;
}

static uint64_t flow4(const uint8_t *ip, const uint8_t *end)
{
	const int fragment = vr_get16(ip + 6) & 0x3fff; /* or the first of several */
	uint64_t hash = mix(ip[9], (uint64_t)vr_get32(ip + 12) << 32 | vr_get32(ip + 16));

	return fragment ? hash : mix(hash, ports_at(ip + 4 * (ip[0] & 15), end, ip[9]));
}

static uint64_t flow6(const uint8_t *ip, const uint8_t *end)
{
	uint64_t hash = ip[6];

	for (int i = 8; i < VR_IP6_LEN; i += 8)
		hash = mix(hash, (uint64_t)vr_get32(ip + i) << 32 | vr_get32(ip + i + 4));
	return mix(hash, ports_at(ip + VR_IP6_LEN, end, ip[6]));
}

/* Whose a packet is. What has no flow stays where it is. */
static uint32_t core_of(const struct poll_core *c, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *ip = frame + VR_ETH_LEN;
	const uint8_t *end = frame + rte_pktmbuf_data_len(m);
	uint64_t hash;

	if (ip + VR_IP4_LEN <= end && vr_get16(frame + 12) == VR_ETHERTYPE_IP4)
		hash = flow4(ip, end);
	else if (ip + VR_IP6_LEN <= end && vr_get16(frame + 12) == VR_ETHERTYPE_IP6)
		hash = flow6(ip, end);
	else
		return c->index;
	return (uint32_t)((uint64_t)(uint32_t)hash * cores >> 32);
}

static void hand_to(struct poll_core *c, uint32_t to, struct rte_mbuf **mbufs, uint16_t count)
{
	if (count)
		rte_ring_sp_enqueue_burst(rings[c->index][to], (void **)mbufs, count, NULL);
	c->account->handed += count;
}

uint16_t poll_hand_out(struct poll_core *c, const struct poll_port *port, struct rte_mbuf **mbufs,
		       uint16_t count)
{
	struct rte_mbuf *some[POLL_BURST];
	uint8_t whose[POLL_BURST];
	uint64_t others = 0;
	uint16_t own = 0, n;

	if (!hands_at(port))
		return count;
	for (uint16_t i = 0; i < count; i++) {
		whose[i] = (uint8_t)core_of(c, mbufs[i]);
		mbufs[i]->port = (uint16_t)port->vif; /* nobody else writes or reads it */
		others |= 1ULL << whose[i];
	}
	for (uint32_t to = 0; to < cores; to++) {
		if (to == c->index || !(others & 1ULL << to))
			continue;
		n = 0;
		for (uint16_t i = 0; i < count; i++)
			if (whose[i] == to)
				some[n++] = mbufs[i];
		hand_to(c, to, some, n);
	}
	for (uint16_t i = 0; i < count; i++)
		if (whose[i] == c->index)
			mbufs[own++] = mbufs[i];
	return own;
}

/* Forwards them by runs of one port. */
static void forward_all(struct poll_core *c, struct rte_mbuf **mbufs, uint32_t count)
{
	uint32_t begin = 0;

	for (uint32_t i = 1; i <= count; i++)
		if (i == count || mbufs[i]->port != mbufs[begin]->port) {
			poll_forward(c, mbufs[begin]->port, mbufs + begin, (uint16_t)(i - begin));
			begin = i;
		}
}

uint32_t poll_hand_take(struct poll_core *c)
{
	struct rte_mbuf *mbufs[POLL_BURST];
	uint32_t all = 0, n;

	for (uint32_t from = 0; from < cores; from++) {
		uint32_t left = from == c->index ? 0 : rte_ring_count(rings[from][c->index]);

		while (left) {
			n = rte_ring_sc_dequeue_burst(rings[from][c->index], (void **)mbufs,
						      RTE_MIN(left, (uint32_t)POLL_BURST), NULL);
			poll_stage(c, POLL_RECEIVE);
			forward_all(c, mbufs, n);
			left -= n;
			all += n;
		}
	}
	return all;
}
