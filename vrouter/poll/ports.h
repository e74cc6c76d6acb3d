/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ports: the devices that packets come from and go to. The control thread makes and removes them,
 * cores forward by a list of them, and never see one that is half made or half gone.
 *
 * A port has one queue or several in each direction. A queue that is received from is one core's.
 * Of those that are sent by, each core has its own where the device has enough; else cores share
 * one, and take turns by a lock, once a burst.
 */
#ifndef POLL_PORTS_H
#define POLL_PORTS_H

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "gro.h"
#include "image.h"

#define POLL_BURST 64
#define POLL_FABRIC 0 /* the vif's number that stands for the fabric */

/* The host, beside a fabric that is no interface of its own: what is not the vRouter's goes there,
 * and what comes from there leaves by the fabric as it is. */
#define POLL_HOST VR_MAX_VIFS
#define POLL_PORTS (VR_MAX_VIFS + 1)

/* What a buffer holds of a frame. A frame may have several. */
#define POLL_FRAME 3840

/* What a port may be given unfinished: its other side finishes it, or has a device do so. */
enum poll_takes {
	POLL_TAKES_CHECKSUM = 1,
	POLL_TAKES_TCP4 = 2, /* aggregates */
	POLL_TAKES_TCP6 = 4,
	POLL_TAKES_UDP = 8,
	POLL_TAKES_REDUCED = 16, /* those of TCP with CWR */
	POLL_TAKES_INNER = 32,	 /* a checksum behind a tunnel's headers */
};

/* What becomes of a packet if its device takes it: for the account. Of an aggregate that is cut,
 * the first of its packets stands for it, and each for its part of the bytes. */
struct poll_fate {
	uint32_t packets; /* as they were received */
	uint32_t segments;
	uint32_t bytes;
	uint32_t from; /* the vif, or POLL_FABRIC */
	uint32_t to;
	uint32_t answered; /* it is an answer to whom it came from */
};

/* What waits at a port to be sent by one core. */
struct poll_lane {
	uint16_t count;
	uint16_t waits;	 /* the core knows that something does */
	uint16_t looked; /* joins say something: some of these may be joined to */
	struct rte_mbuf *mbufs[POLL_BURST];
	struct poll_fate fates[POLL_BURST];
	struct poll_join joins[POLL_BURST];
} __rte_cache_aligned;

/* One queue of a device, both ways. */
struct poll_queue {
	struct poll_socket *socket; /* where the device is none of DPDK's; or */
	struct poll_tap *tap;	    /* or */
	struct poll_vhost *vhost;
	uint32_t core;		/* that receives from it */
	rte_spinlock_t sending; /* if cores share it */
} __rte_cache_aligned;

struct poll_port {
	uint32_t vif;
	uint16_t device;  /* DPDK's number, if there are no sockets */
	uint16_t receive; /* queues */
	uint16_t send;
	uint16_t shared; /* there are fewer to send by than cores */
	uint32_t takes;	 /* enum poll_takes */
	uint32_t sums; /* POLL_SUM_MAYBE if the device does not say whose checksum is unfinished */
	char name[32]; /* of DPDK's device, if it has one */
	const char *bus; /* of that */
	struct poll_queue *queues;
	struct poll_lane *lanes; /* one a core */
};

/* Where a core looks for packets. */
struct poll_source {
	struct poll_port *port;
	uint32_t queue;
};

struct poll_sources {
	uint32_t count;
	struct poll_source *all;
};

/* All ports. A list that a core has never changes. */
struct poll_ports {
	uint32_t count;
	struct poll_port *all[POLL_PORTS];
	struct poll_port *of[POLL_PORTS]; /* by vif */
	struct poll_sources sources[POLL_CORES];
	struct poll_source *room; /* of all of them */
};

enum poll_kind {
	POLL_PACKET,	    /* a network interface of the kernel's, by AF_PACKET */
	POLL_XDP,	    /* the same, by AF_XDP */
	POLL_VHOST_SERVER,  /* a vhost-user socket, which the VM connects to */
	POLL_VHOST_CLIENT,  /* the same, but it is the VM that listens */
	POLL_VIRTIO_CLIENT, /* a switch's vhost-user socket */
	POLL_TAP,	    /* an open file of /dev/net/tun */
	POLL_PCI,	    /* a device by its address */
};

/* What a port is to be at. */
struct poll_place {
	uint32_t vif;
	enum poll_kind kind;
	const char *at; /* the interface's name, the socket's path, the device's address */
	int fd;		/* of a tap; the port closes it, also after an error */
	uint32_t mtu;	/* of a device that has none of its own; 0 leaves it */
};

/* The list as it is. */
const struct poll_ports *poll_ports_now(void);

/* As rte_eth_rx_burst and rte_eth_tx_burst; a core sends by the queue that it has there. -1 is for
 * a first packet that cannot be sent, while others may. */
uint16_t poll_port_receive(const struct poll_port *p, uint32_t queue, struct rte_mbuf **mbufs,
			   uint16_t count);
int poll_port_send(const struct poll_port *p, uint32_t core, struct rte_mbuf **mbufs,
		   uint16_t count);

/* How many packets a queue had no room for since the last question, if it tells. */
uint32_t poll_port_missed(const struct poll_port *p, uint32_t queue);

/* Each gives 0, or what went wrong. */
int poll_ports_begin(uint32_t cores);
const char *poll_port_add(const struct poll_place *place);
const char *poll_port_remove(uint32_t vif);

/* Whether a port's other side is there; an interface's always is. */
const char *poll_port_link(uint32_t vif, int *up);

/* Takes all ports away, once no core forwards: sockets' files go with them. */
void poll_ports_end(void);

/* Waits until every core has left every list that it had before: lcore.c. */
void poll_wait_round(void);

#endif
