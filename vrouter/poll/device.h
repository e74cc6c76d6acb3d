/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is behind a port: a driver of DPDK's, or sockets of our own. */
#ifndef POLL_DEVICE_H
#define POLL_DEVICE_H

#include "ports.h"

/* Makes the buffers that packets are in: 0 or -1. */
int poll_device_begin(uint32_t cores);

/* Opens what the port is to be at: 0, or what went wrong. The port has its vif, and nothing else.
 */
const char *poll_device_open(struct poll_port *p, const struct poll_place *place);
void poll_device_close(struct poll_port *p);

/* For those who open devices: how many cores forward, buffers for packets, and smaller ones for the
 * queues of a port by AF_XDP. */
uint32_t poll_device_cores(void);
struct rte_mempool *poll_device_buffers(void);
struct rte_mempool *poll_device_chunks(uint32_t vif, uint32_t queues);

/* Whether the other side is there. */
const char *poll_device_link(const struct poll_port *p, int *up);

#endif
