/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of a VM at a vhost-user socket, by DPDK's library for such sockets. DPDK has a driver
 * around it, net_vhost, which has the library count each packet by its size, asks for each whether
 * it has a VLAN's tag to come off or on, and frees them one by one: bench/LEARNED.md has what that
 * takes.
 */
#ifndef POLL_VHOST_H
#define POLL_VHOST_H

#include <rte_mbuf.h>

struct poll_vhost;
struct poll_port;

/* None after an error. As a client it connects to a VM that listens, again and again; else it
 * listens. What the port takes is kept as whoever is there has agreed to. */
struct poll_vhost *poll_vhost_open(struct poll_port *p, const char *path, int client);
void poll_vhost_close(struct poll_vhost *v);

/* As rte_eth_rx_burst and rte_eth_tx_burst. */
uint16_t poll_vhost_receive(const struct poll_vhost *v, struct rte_mempool *pool,
			    struct rte_mbuf **mbufs, uint16_t count);
uint16_t poll_vhost_send(const struct poll_vhost *v, struct rte_mbuf **mbufs, uint16_t count);

/* Whether a VM is there. */
int poll_vhost_linked(const struct poll_vhost *v);

#endif
