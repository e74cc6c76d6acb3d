//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vhost.h"

#include <errno.h>
#include <linux/virtio_net.h>

#include <rte_eth_vhost.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_vhost.h>

#define FEATURE(name) (1ULL << VIRTIO_NET_F_##name)

/* Not CWR: the library cannot tell a VM of it. Nor does it count the length of an aggregate in the
 * pseudo-header's sum, which the stack of a VM that the packet is for does not look at. */
static uint32_t takes_of(uint16_t device)
{
	int vm = rte_eth_vhost_get_vid_from_port_id(device);
	uint64_t agreed;
	uint32_t takes = POLL_TAKES_CHECKSUM;

	if (vm < 0 || rte_vhost_get_negotiated_features(vm, &agreed) ||
	    !(agreed & FEATURE(GUEST_CSUM)))
		return 0;
	if (agreed & FEATURE(GUEST_TSO4))
		takes |= POLL_TAKES_TCP4;
	if (agreed & FEATURE(GUEST_TSO6))
		takes |= POLL_TAKES_TCP6;
	return takes;
}

/* A VM that comes may have agreed to less than the one before. */
static int link_changed(uint16_t device, enum rte_eth_event_type event, void *port, void *unused)
{
	struct poll_port *p = port;
	struct rte_eth_link link;

	(void)event;
	(void)unused;
	if (!rte_eth_link_get_nowait(device, &link))
		__atomic_store_n(&p->takes, link.link_status ? takes_of(device) : 0,
				 __ATOMIC_RELAXED);
	return 0;
}

/* UDP that is to become fragments is taken back: nobody sends it any more (Linux 4.14), and nothing
 * here cuts it. The driver lets its offers be changed only once it listens, so who connects at that
 * very moment may have been offered it; what is sent then is dropped as bad_aggregate. */
void poll_vhost_begin(struct poll_port *p, const char *path)
{
	rte_vhost_driver_disable_features(path, FEATURE(HOST_UFO) | FEATURE(GUEST_UFO));
	rte_eth_dev_callback_register(p->device, RTE_ETH_EVENT_INTR_LSC, link_changed, p);
	link_changed(p->device, RTE_ETH_EVENT_INTR_LSC, p, NULL);
}

void poll_vhost_end(struct poll_port *p)
{
	while (rte_eth_dev_callback_unregister(p->device, RTE_ETH_EVENT_INTR_LSC, link_changed,
					       p) == -EAGAIN)
		rte_pause(); /* it is being called */
}
