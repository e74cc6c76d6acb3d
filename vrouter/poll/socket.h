/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of a network interface of the kernel's, by a socket of AF_PACKET (packet(7),
 * Documentation/networking/packet_mmap.rst). DPDK has a driver for such sockets, but that one has
 * the kernel put IPv4 fragments together (PACKET_FANOUT_FLAG_DEFRAG), passes frames on that were
 * cut, gets what the host itself sends, and does not say whose checksum is unfinished, or what is
 * an aggregate (PACKET_VNET_HDR).
 *
 * Frames come in a ring, whose slots are small. The kernel keeps what is longer in the socket
 * besides (PACKET_COPY_THRESH), which is read from there into as many buffers as it takes. They go
 * by sendmmsg(2), from as many buffers as they have: a ring would have them copied once more, as
 * the kernel copies what leaves by a virtual device (commit 5cd8d46ea156). They go by the device's
 * queueing discipline, for only there the kernel cuts what the device cannot (dev_direct_xmit).
 */
#ifndef POLL_SOCKET_H
#define POLL_SOCKET_H

#include <rte_mbuf.h>

struct poll_socket;

/* None after an error, which is in errno. First is NULL, or an open socket of the same interface
 * that is to share its packets with this one, a flow always going to the same of them. */
struct poll_socket *poll_socket_open(const char *interface, const struct poll_socket *first);
void poll_socket_close(struct poll_socket *s);

/* What it may be given unfinished: enum poll_takes. */
uint32_t poll_socket_takes(const struct poll_socket *s);

/* As rte_eth_rx_burst; layers.h says how what is unfinished is told. A frame that was cut says more
 * in pkt_len than it has. */
uint16_t poll_socket_receive(struct poll_socket *s, struct rte_mempool *pool,
			     struct rte_mbuf **mbufs, uint16_t count);

/* How many packets came since the last question while there was no room for them. */
uint32_t poll_socket_missed(const struct poll_socket *s);

/* Sends the first of them that there is room for, and frees those: how many, or -1 if the first one
 * cannot be sent, whatever room there is. */
int poll_socket_send(struct poll_socket *s, struct rte_mbuf **mbufs, uint16_t count);

#endif
