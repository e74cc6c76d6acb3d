/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The header with which the kernel says what of a packet is left to a device, and is told
 * (linux/virtio_net.h), by a socket of AF_PACKET and by a tap; and packets in several buffers. */
#ifndef POLL_VNET_H
#define POLL_VNET_H

#include <linux/virtio_net.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "ports.h"

/* The longest frame: an IP packet with all that its header can say, and an Ethernet header with a
 * tag. */
#define POLL_LONGEST (0xffff + RTE_ETHER_HDR_LEN + 4)
#define POLL_PIECES ((POLL_LONGEST + POLL_FRAME - 1) / POLL_FRAME)

/* What was received says: as layers.h has it. */
void poll_vnet_note(struct rte_mbuf *m, const struct virtio_net_hdr *h);

/* What is sent is to say. */
void poll_vnet_state(struct virtio_net_hdr *h, const struct rte_mbuf *m);

/* Makes one packet of buffers of which so many bytes are used, all but the last one full. */
struct rte_mbuf *poll_chain(struct rte_mbuf **pieces, uint32_t count, uint32_t bytes);

#endif
