/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

/* Of the ring and of the buffers. A ring is longer than a burst that waits while another process
 * has the CPU of one that polls. */
#define DESCRIPTORS 1024
#define BUFFERS 4095 /* 2^n - 1 wastes least (rte_mempool_create) */
#define BUFFER_CACHE 256
#define BUFFER_BYTES (RTE_PKTMBUF_HEADROOM + FRAME_ROOM)
#define SOCKET_PATH 107 /* unix(7) */

#define BASE_MEMORY 48 /* MiB: DPDK's own */
#define PORT_MEMORY 80 /* MiB: two pools of 4095 buffers of 4 KiB, and a sink's memory */

unsigned int frame_ports_memory(unsigned int ports)
{
	return BASE_MEMORY + ports * PORT_MEMORY;
}

static struct rte_mempool *pool(const char *kind, unsigned int index)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "%s%u", kind, index);
	return rte_pktmbuf_pool_create(name, BUFFERS, BUFFER_CACHE, 0, BUFFER_BYTES, SOCKET_ID_ANY);
}

/* A NIC has to take frames for addresses that are not its own; virtio-user knows none. */
static const char *start(struct frame_port *p)
{
	struct rte_eth_conf conf = {0};
	uint16_t receive = DESCRIPTORS, send = DESCRIPTORS;
	int failed;

	if (rte_eth_dev_configure(p->device, 1, 1, &conf) ||
	    rte_eth_dev_adjust_nb_rx_tx_desc(p->device, &receive, &send))
		return "the device cannot be configured";
	if (rte_eth_rx_queue_setup(p->device, 0, receive, SOCKET_ID_ANY, NULL, p->receives))
		return "the device's receive queue cannot be set up";
	if (rte_eth_tx_queue_setup(p->device, 0, send, SOCKET_ID_ANY, NULL))
		return "the device's transmit queue cannot be set up";
	if (rte_eth_dev_start(p->device))
		return "the device cannot be started";
	failed = rte_eth_promiscuous_enable(p->device);
	return failed && failed != -ENOTSUP ? "the device does not take frames for all addresses"
					    : NULL;
}

/* What means something to DPDK's own texts must not be in a path. */
static int plain(const char *at, size_t most)
{
	size_t length = strlen(at);

	if (length == 0 || length > most)
		return 0;
	for (size_t i = 0; i < length; i++)
		if (at[i] <= ' ' || at[i] >= 127 || strchr(",=[]\\\"'", at[i]))
			return 0;
	return 1;
}

/* Cuts NAME=MAC,PLACE in place. */
static int cut(char *text, char **mac, char **place)
{
	*mac = strchr(text, '=');
	*place = *mac ? strchr(*mac, ',') : NULL;
	if (!*place)
		return -1;
	*(*mac)++ = 0;
	*(*place)++ = 0;
	return 0;
}

/* Rings of mergeable buffers would let a frame come in several, which none of ours does. */
static const char *attach_socket(struct frame_port *p, unsigned int index, const char *mac,
				 const char *path)
{
	char device[32], arguments[256];

	snprintf(device, sizeof(device), "net_virtio_user%u", index);
	snprintf(arguments, sizeof(arguments),
		 "path=%s,mac=%s,queues=1,queue_size=%u,mrg_rxbuf=0,in_order=1", path, mac,
		 DESCRIPTORS);
	if (rte_eal_hotplug_add("vdev", device, arguments))
		return "DPDK cannot open it: does somebody listen at the socket?";
	if (rte_eth_dev_get_port_by_name(device, &p->device))
		return "DPDK has no device for it";
	return NULL;
}

static const char *attach_pci(struct frame_port *p, const char *address)
{
	if (rte_eal_hotplug_add("pci", address, ""))
		return "DPDK cannot open it: is there such a device, and is it bound to vfio-pci?";
	if (rte_eth_dev_get_port_by_name(address, &p->device))
		return "DPDK has no device for it: `lspci -D` shows addresses as they must be";
	return NULL;
}

const char *frame_port_open(struct frame_port *p, unsigned int index, const char *given)
{
	char text[512], *mac, *place;
	const char *bad;

	if (strlen(given) >= sizeof(text))
		return "it is too long";
	strcpy(text, given);
	if (cut(text, &mac, &place) || strlen(text) >= sizeof(p->name) ||
	    !plain(text, FRAME_NAME) || !plain(mac, 17) || !plain(place, SOCKET_PATH) ||
	    (place[0] != '/' && !strchr(place, ':')))
		return "a port is NAME=MAC,PLACE, with an absolute path of at most 107 plain "
		       "bytes, or a PCI address";
	strcpy(p->name, text);
	p->receives = pool("receives", index);
	p->sends = pool("sends", index);
	if (!p->receives || !p->sends || frame_sink_begin(&p->sink))
		return "there is no memory for its frames";
	bad = place[0] == '/' ? attach_socket(p, index, mac, place) : attach_pci(p, place);
	return bad ? bad : start(p);
}

void frame_port_close(struct frame_port *p)
{
	rte_eth_dev_stop(p->device);
	rte_eth_dev_close(p->device);
}
