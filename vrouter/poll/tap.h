/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets of a tap, by an open file of /dev/net/tun (Documentation/networking/tuntap.rst): a packet
 * is one read or write, with what is left to a device in front of it (vnet.h). The file is the
 * agent's, so that the interface outlives the process. */
#ifndef POLL_TAP_H
#define POLL_TAP_H

#include <rte_mbuf.h>

struct poll_tap;

/* By a copy of the file descriptor. The stack behind it may leave checksums and segmentation to us,
 * or nothing. None after an error, which is in errno. */
struct poll_tap *poll_tap_open(int fd, int offloads);
void poll_tap_close(struct poll_tap *t);

/* What it may be given unfinished: enum poll_takes. */
uint32_t poll_tap_takes(const struct poll_tap *t);

/* As rte_eth_rx_burst; layers.h says how what is unfinished is told. A frame that was cut says more
 * in pkt_len than it has. */
uint16_t poll_tap_receive(struct poll_tap *t, struct rte_mempool *pool, struct rte_mbuf **mbufs,
			  uint16_t count);

/* Sends the first of them that there is room for, and frees those: how many, or -1 if the first one
 * cannot be sent, whatever room there is. */
int poll_tap_send(struct poll_tap *t, struct rte_mbuf **mbufs, uint16_t count);

#endif
