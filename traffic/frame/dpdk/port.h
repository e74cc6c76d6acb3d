/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A port: one device of DPDK, by which frames are sent and received. Its source and its sink are
 * the core's; the other thread reaches them through frame_core_call only.
 */
#ifndef FRAME_PORT_H
#define FRAME_PORT_H

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "sink.h"
#include "source.h"

#define FRAME_PORTS 64
#define FRAME_BURST 32
#define FRAME_ROOM 3840 /* bytes of a frame without FCS, at most: those that vrouter-poll takes */
#define FRAME_NAME 64

struct frame_port {
	char name[FRAME_NAME]; /* of the endpoint whose port it is */
	uint16_t device;
	struct rte_mempool *receives;
	struct rte_mempool *sends; /* of source alone */
	uint32_t sessions;	   /* of source, so far */
	struct frame_source source;
	struct frame_sink sink;
};

/* What EAL has to reserve for so many ports, in MiB. */
unsigned int frame_ports_memory(unsigned int ports);

/* Opens a port of the text NAME=MAC,PLACE: a vhost-user socket at which somebody else listens, or
 * the PCI address of a NIC that is DPDK's. Says what is wrong, or returns NULL. */
const char *frame_port_open(struct frame_port *p, unsigned int index, const char *text);

void frame_port_close(struct frame_port *p);

#endif
