/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a network interface of the kernel's can do, by ethtool's names. */
#ifndef POLL_NETDEV_H
#define POLL_NETDEV_H

/* Whether its device can finish any checksum (NETIF_F_HW_CSUM), so one behind a tunnel's headers as
 * well. Others know the headers of some protocols, and would look for them in the wrong place: the
 * kernel does not notice, because nothing tells it of the tunnel. The socket is any. */
int poll_finishes_any(int socket, const char *interface);

#endif
