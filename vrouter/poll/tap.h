/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets of a tap, by an open file of /dev/net/tun (Documentation/networking/tuntap.rst): a packet
 * is one read or write. The file is the agent's, so that the interface outlives the process. */
#ifndef POLL_TAP_H
#define POLL_TAP_H

#include <rte_mbuf.h>

struct poll_tap;

/* By a copy of the file descriptor. None if it cannot be had. */
struct poll_tap *poll_tap_open(int fd);
void poll_tap_close(struct poll_tap *t);

/* As rte_eth_rx_burst. A frame that was cut says more in pkt_len than it has. */
uint16_t poll_tap_receive(struct poll_tap *t, struct rte_mempool *pool, struct rte_mbuf **mbufs,
			  uint16_t count);

/* As rte_eth_tx_burst. */
uint16_t poll_tap_send(struct poll_tap *t, struct rte_mbuf **mbufs, uint16_t count);

#endif
