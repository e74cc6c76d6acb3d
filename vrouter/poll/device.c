//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "device.h"

#include <stdio.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "socket.h"
#include "tap.h"
#include "vhost.h"

/* Of all ports together: 2^n - 1 wastes least (rte_mempool_create). A core's cache may keep half as
 * many again as its size. */
#define BUFFERS 8191
#define BUFFER_CACHE 256
#define BUFFERS_MORE 2048 /* with each core after the first */

/* Of each queue of AF_XDP, of which its driver puts 2048 into a ring (net_af_xdp) and may have as
 * many under way. A buffer must fit a page with all that belongs to it (xdp_umem_reg). */
#define CHUNKS 5119
#define CHUNK (RTE_PKTMBUF_HEADROOM + 3584)

static struct rte_mempool *buffers;
static uint32_t cores;

uint32_t poll_device_cores(void)
{
	return cores;
}

struct rte_mempool *poll_device_buffers(void)
{
	return buffers;
}

/* They are kept for the next port with this number: another port may have some of them yet. */
struct rte_mempool *poll_device_chunks(uint32_t vif, uint32_t queues)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *there;

	snprintf(name, sizeof(name), "chunks%u-%u", vif, queues);
	there = rte_mempool_lookup(name);
	return there ? there
		     : rte_pktmbuf_pool_create(name, CHUNKS * queues, BUFFER_CACHE, 0, CHUNK,
					       SOCKET_ID_ANY);
}

int poll_device_begin(uint32_t count)
{
	cores = count;
	buffers =
	    rte_pktmbuf_pool_create("packets", BUFFERS + BUFFERS_MORE * (count - 1), BUFFER_CACHE,
				    0, RTE_PKTMBUF_HEADROOM + POLL_FRAME, SOCKET_ID_ANY);
	return buffers ? 0 : -1;
}

uint16_t poll_port_receive(const struct poll_port *p, uint32_t queue, struct rte_mbuf **mbufs,
			   uint16_t count)
{
	const struct poll_queue *q = &p->queues[queue];

	if (q->socket)
		return poll_socket_receive(q->socket, buffers, mbufs, count);
	if (q->tap)
		return poll_tap_receive(q->tap, buffers, mbufs, count);
	if (q->vhost) {
		count = poll_vhost_receive(q->vhost, buffers, mbufs, count);
		for (uint16_t i = 0; i < count; i++)
			mbufs[i]->hash.usr = 0;
		return count;
	}
	count = rte_eth_rx_burst(p->device, (uint16_t)queue, mbufs, count);
	for (uint16_t i = 0; i < count; i++) {
		mbufs[i]->hash.usr = p->sums; /* a device does not say where a checksum is */
		if (p->sums)
			mbufs[i]->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	}
	return count;
}

uint32_t poll_port_missed(const struct poll_port *p, uint32_t queue)
{
	struct poll_socket *socket = p->queues[queue].socket;

	return socket ? poll_socket_missed(socket) : 0;
}

static int send_by(const struct poll_port *p, uint32_t queue, struct rte_mbuf **mbufs,
		   uint16_t count)
{
	const struct poll_queue *q = &p->queues[queue];

	if (q->socket)
		return poll_socket_send(q->socket, mbufs, count);
	if (q->tap)
		return poll_tap_send(q->tap, mbufs, count);
	if (q->vhost)
		return poll_vhost_send(q->vhost, mbufs, count);
	return rte_eth_tx_burst(p->device, (uint16_t)queue, mbufs, count);
}

int poll_port_send(const struct poll_port *p, uint32_t core, struct rte_mbuf **mbufs,
		   uint16_t count)
{
	uint32_t queue = core;
	int sent;

	if (likely(!p->shared))
		return send_by(p, queue, mbufs, count);
	queue = core % p->send;
	rte_spinlock_lock(&p->queues[queue].sending);
	sent = send_by(p, queue, mbufs, count);
	rte_spinlock_unlock(&p->queues[queue].sending);
	return sent;
}

void poll_device_close(struct poll_port *p)
{
	for (uint32_t i = 0; p->queues && i < RTE_MAX(p->receive, p->send); i++) {
		if (p->queues[i].socket)
			poll_socket_close(p->queues[i].socket);
		if (p->queues[i].tap)
			poll_tap_close(p->queues[i].tap);
		if (p->queues[i].vhost)
			poll_vhost_close(p->queues[i].vhost);
	}
	if (p->name[0]) {
		rte_eth_dev_stop(p->device);
		rte_eth_dev_close(p->device);
		rte_eal_hotplug_remove(p->bus, p->name);
	}
	rte_free(p->queues);
	p->queues = NULL;
}

const char *poll_device_link(const struct poll_port *p, int *up)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_UP};

	if (p->name[0] && rte_eth_link_get_nowait(p->device, &link))
		return "the device does not tell its link";
	*up = p->queues[0].vhost ? poll_vhost_linked(p->queues[0].vhost)
				 : link.link_status == RTE_ETH_LINK_UP;
	return NULL;
}
