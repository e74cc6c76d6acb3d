//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How each kind of device is opened. */
#include "device.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "layers.h"
#include "socket.h"
#include "tap.h"
#include "vhost.h"

#define DESCRIPTORS 256
#define ARGUMENTS 256

static int make_queues(struct poll_port *p, uint32_t receive, uint32_t send)
{
	p->receive = (uint16_t)receive;
	p->send = (uint16_t)send;
	p->shared = send < poll_device_cores();
	p->queues =
	    rte_calloc("queues", RTE_MAX(receive, send), sizeof(*p->queues), RTE_CACHE_LINE_SIZE);
	return p->queues ? 0 : -1;
}

/* The fabric's packets are shared out among all cores, a flow to one. A vif's are one core's, for a
 * socket's ring takes 2 MiB. */
static const char *open_packet(struct poll_port *p, const char *interface)
{
	uint32_t queues = p->vif == POLL_FABRIC ? poll_device_cores() : 1;

	if (make_queues(p, queues, queues))
		return "no memory";
	for (uint32_t i = 0; i < queues; i++) {
		p->queues[i].socket = poll_socket_open(interface, p->queues[0].socket);
		if (!p->queues[i].socket)
			return strerror(errno);
	}
	p->takes = poll_socket_takes(p->queues[0].socket);
	return NULL;
}

/* What the host sends leaves as it is, so that nothing of it may be left to a device. */
static const char *open_tap(struct poll_port *p, int fd)
{
	if (fd < 0)
		return "there is no open file of it";
	if (make_queues(p, 1, 1))
		return "no memory";
	p->queues[0].tap = poll_tap_open(fd, p->vif != POLL_HOST);
	if (!p->queues[0].tap)
		return strerror(errno);
	p->takes = poll_tap_takes(p->queues[0].tap);
	return NULL;
}

static const char *set_up_queues(struct poll_port *p, struct rte_mempool *pool)
{
	uint16_t receive = DESCRIPTORS, send = DESCRIPTORS;

	if (rte_eth_dev_adjust_nb_rx_tx_desc(p->device, &receive, &send))
		return "the device has no queues of any length";
	for (uint16_t i = 0; i < p->receive; i++)
		if (rte_eth_rx_queue_setup(p->device, i, receive, SOCKET_ID_ANY, NULL, pool))
			return "the device's receive queue cannot be set up";
	for (uint16_t i = 0; i < p->send; i++)
		if (rte_eth_tx_queue_setup(p->device, i, send, SOCKET_ID_ANY, NULL))
			return "the device's transmit queue cannot be set up";
	return NULL;
}

/* Frames are for the containers' addresses, or the host's, and not for the device's own: it has to
 * take all (promiscuous). Drivers that know no addresses have nothing to switch. An MTU comes
 * before the start: to change it later, a driver may start anew, and forget that (net_vmxnet3). */
static const char *start(struct poll_port *p, struct rte_mempool *pool, uint16_t most,
			 struct rte_eth_rxmode receive)
{
	struct rte_eth_conf conf = {.rxmode = receive};
	struct rte_eth_dev_info info;
	const char *bad;
	int failed;

	if (rte_eth_dev_get_port_by_name(p->name, &p->device) ||
	    rte_eth_dev_info_get(p->device, &info))
		return "DPDK does not know the device that it has opened";
	if (make_queues(p, RTE_MIN(most, info.max_rx_queues), RTE_MIN(most, info.max_tx_queues)))
		return "no memory";
	if (p->receive > 1 && info.flow_type_rss_offloads) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
		    (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP) &
		    info.flow_type_rss_offloads;
	}
	if (receive.mtu > info.max_mtu)
		return "the device does not take the MTU";
	if (rte_eth_dev_configure(p->device, p->receive, p->send, &conf))
		return "the device cannot be configured";
	bad = set_up_queues(p, pool);
	if (bad)
		return bad;
	if (rte_eth_dev_start(p->device))
		return "the device cannot be started";
	failed = rte_eth_promiscuous_enable(p->device);
	if (failed && failed != -ENOTSUP)
		return "the device cannot be made to take frames for all addresses";
	return NULL;
}

static const char *add_device(struct poll_port *p, const char *bus, const char *arguments)
{
	p->bus = bus;
	if (!rte_eal_hotplug_add(bus, p->name, arguments))
		return NULL;
	p->name[0] = 0;
	return "DPDK cannot open it";
}

/* Either side may be started anew. A frame that is too long for a buffer comes in several. */
static const char *open_vhost(struct poll_port *p, const char *path, int client)
{
	if (path[0] != '/')
		return "a socket's path must begin with /";
	if (make_queues(p, 1, 1))
		return "no memory";
	p->queues[0].vhost = poll_vhost_open(p, path, client);
	return p->queues[0].vhost ? NULL : "DPDK cannot open it";
}

/* As a server, the driver would wait for the switch, and all that is asked for with it. */
static const char *open_virtio(struct poll_port *p, const char *path)
{
	char arguments[ARGUMENTS];
	const char *bad;

	if (path[0] != '/')
		return "a socket's path must begin with /";
	snprintf(p->name, sizeof(p->name), "net_virtio_user%u", p->vif);
	snprintf(arguments, sizeof(arguments), "path=%s,queues=1", path);
	bad = add_device(p, "vdev", arguments);
	return bad ? bad : start(p, poll_device_buffers(), 1, (struct rte_eth_rxmode){0});
}

/* How many queues an interface has: what comes by one that nobody asks would be lost. */
static uint32_t channels(const char *interface)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq request = {.ifr_data = (void *)&c};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	failed = fd < 0 || ioctl(fd, SIOCETHTOOL, &request);
	if (fd >= 0)
		close(fd);
	return failed ? 1 : RTE_MAX(c.combined_count + c.rx_count, 1U);
}

/* Whether a stack has left a checksum to the device, as those behind a veth do, XDP has no word
 * for. */
static const char *open_xdp(struct poll_port *p, const char *interface)
{
	uint32_t queues = channels(interface);
	struct rte_mempool *pool = poll_device_chunks(p->vif, queues);
	char arguments[ARGUMENTS];
	const char *bad;

	if (!pool)
		return "no memory";
	p->sums = POLL_SUM_MAYBE;
	snprintf(p->name, sizeof(p->name), "net_af_xdp%u", p->vif);
	snprintf(arguments, sizeof(arguments), "iface=%s,start_queue=0,queue_count=%u", interface,
		 queues);
	bad = add_device(p, "vdev", arguments);
	return bad ? bad : start(p, pool, (uint16_t)queues, (struct rte_eth_rxmode){0});
}

static const char *open_pci(struct poll_port *p, const char *address, uint32_t mtu)
{
	struct rte_eth_rxmode receive = {.mtu = mtu};
	const char *bad;

	snprintf(p->name, sizeof(p->name), "%s", address);
	bad = add_device(p, "pci", "");
	return bad ? bad : start(p, poll_device_buffers(), (uint16_t)poll_device_cores(), receive);
}

static const char *open_as(struct poll_port *p, const struct poll_place *place)
{
	switch (place->kind) {
	case POLL_PACKET:
		return open_packet(p, place->at);
	case POLL_XDP:
		return open_xdp(p, place->at);
	case POLL_VHOST_SERVER:
	case POLL_VHOST_CLIENT:
		return open_vhost(p, place->at, place->kind == POLL_VHOST_CLIENT);
	case POLL_VIRTIO_CLIENT:
		return open_virtio(p, place->at);
	case POLL_TAP:
		return open_tap(p, place->fd);
	case POLL_PCI:
		return open_pci(p, place->at, place->mtu);
	}
	return "a kind that there is not";
}

const char *poll_device_open(struct poll_port *p, const struct poll_place *place)
{
	const char *bad = open_as(p, place);

	if (bad)
		poll_device_close(p);
	return bad;
}
