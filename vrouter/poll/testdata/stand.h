/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The forwarding code between ports that are no devices: what is sent to one is kept until the test
 * has looked at it. Everything else, from poll_forward to poll_port_send, is the process's own.
 */
#ifndef STAND_H
#define STAND_H

#include <stdio.h>
#include <stdlib.h>

#include "../forward.h"

#define STAND_KEPT 4096 /* packets, the copies of a burst among them */

/* Stops at what must not happen: the sanitizers and libFuzzer see it, too. */
#define STAND_CHECK(x)                                                                             \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "stand: %s:%d: %s does not hold\n", __FILE__, __LINE__,    \
				#x);                                                               \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct stand_sent {
	uint32_t vif;
	struct rte_mbuf *m;
};

struct stand {
	struct poll_core core;
	struct poll_ports ports;
	struct poll_port of[VR_MAX_VIFS];
	struct poll_lane lanes[VR_MAX_VIFS];
	struct rte_mempool *buffers;
	uint32_t room; /* how many packets the ports take before all are full */
	uint32_t kept;
	struct stand_sent sent[STAND_KEPT];
};

/* The one of this program. */
extern struct stand stand;

/* Makes buffers like the process's, and a port for the fabric and for each vif of the tables. */
void stand_begin(const struct vr_tables *tables, struct poll_account *account);

/* Forwards packets that a port gave, up to POLL_BURST. */
void stand_forward(uint32_t vif, struct rte_mbuf **mbufs, uint16_t count);

/* Gives back what was kept: then every buffer is in the pool again. */
void stand_forget(void);

#endif
