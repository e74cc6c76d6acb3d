/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Segmentation: the packets of an aggregate, one after the other, each with the headers of all. It
 * comes before encapsulation, so one way does for every tunnel. rte_gso of DPDK 22.11 is not used:
 * it cuts neither IPv6 nor UDP into datagrams, and says on each segment what is to be said once
 * (CWR: RFC 3168, section 6.1.2).
 */
#ifndef POLL_GSO_H
#define POLL_GSO_H

#include "layers.h"

struct poll_cut {
	const struct rte_mbuf *all;
	const struct rte_mbuf *from; /* the buffer that the next payload is in, and where */
	uint32_t at;
	uint32_t left;		   /* bytes of payload */
	uint32_t done;		   /* packets */
	struct poll_layers layers; /* of the next packet, once it is made */
};

void poll_cut_begin(struct poll_cut *cut, const struct rte_mbuf *m, const struct poll_layers *l);

/* The next packet, whose checksum is unfinished; none without a buffer for it. */
struct rte_mbuf *poll_cut_next(struct poll_cut *cut);

#endif
